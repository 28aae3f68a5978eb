"""WITH of streams, tables and sinks, and where queries send their results."""
