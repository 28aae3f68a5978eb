"""Aggregates over any window: partial aggregates, trees of them, groups."""
