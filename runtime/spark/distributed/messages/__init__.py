"""What executors and the driver tell each other: the specification, lines of work, and files that are there whole."""
