"""Rows from outside: typed, rejected alone, found late, counted."""
