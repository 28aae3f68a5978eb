"""What the bounds of a query say to its author."""
