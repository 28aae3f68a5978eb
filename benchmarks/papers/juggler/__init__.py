"""Juggler's experiments: multi-joins beside binary plans, orders of predicate types, overlapping predicates."""
