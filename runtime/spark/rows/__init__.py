"""Rows on their way through Spark: slots for many streams, ranges, result tables."""
