"""Shared state: the base tuples of a stream, kept once, and the indexes beside them."""
