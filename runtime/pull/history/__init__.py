"""Kept results, in the order that windows ask for."""
