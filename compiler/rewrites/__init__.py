"""One file per rewrite; each is a function from a bound query to a bound query."""
