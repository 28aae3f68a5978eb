"""What one can see of a service: its queries as a table, its graph with counts, the past through a query that is not registered."""
