"""Files that are private, and that tell when they are damaged."""
