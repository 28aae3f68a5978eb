"""One file per operator of the running graph."""
