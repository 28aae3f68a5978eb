"""How rows go through the flat join, from the tuples that start to the results."""
