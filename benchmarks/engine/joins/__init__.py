"""Many window joins, and clique joins with and without feedback."""
