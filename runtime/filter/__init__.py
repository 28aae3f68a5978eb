"""The grouped filter: one operator for every condition on one stream (CACQ)."""
