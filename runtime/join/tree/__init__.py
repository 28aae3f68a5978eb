"""Joins as trees with states between them, and the feedback that goes down their edges (JIT)."""
