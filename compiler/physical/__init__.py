"""The physical plan: which operators will run for a graph, as data that can be printed."""
