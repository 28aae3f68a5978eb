"""Sigma rules of the shape that public ones have: converted, compiled, run, changed and correlated."""
