"""Which queries want a row: bitmaps, ranks, and what operators found for whom."""
