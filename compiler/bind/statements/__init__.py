"""Whole statements: a program, what it declares, its views, its queries and alerts."""
