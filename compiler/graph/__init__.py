"""The shared operator graph: its nodes, how queries enter it and how they leave."""
