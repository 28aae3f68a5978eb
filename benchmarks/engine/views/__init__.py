"""Queries over views beside the same queries written out by hand."""
