"""Event times in comparisons, and that of a view."""
