"""Benchmarks beside other engines."""
