"""IP addresses and nets: texts read as numbers, and the nets of all queries over a column in one index."""
