"""Queries with BEGIN-END: they have a value at every instant, and are asked for it (PSoup)."""
