"""Rows that depend on what is not there: outer joins and [NOT] EXISTS, decided by watermarks."""
