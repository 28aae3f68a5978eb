"""From a bound expression to a function over columns; which kernel each built-in function has."""
