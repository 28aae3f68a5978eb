"""EXISTS and IN over a query: what is asked of it."""
