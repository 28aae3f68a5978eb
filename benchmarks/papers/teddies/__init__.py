"""Teddies' experiments: packets of tuples beside one tuple at a time."""
