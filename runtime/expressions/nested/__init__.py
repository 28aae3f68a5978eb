"""Nested values, DECIMAL and BINARY in expressions."""
