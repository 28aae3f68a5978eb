"""Text to syntax tree, with every mistake reported."""
