"""LIKE, ILIKE and RLIKE: patterns read once, and matched by kernels."""
