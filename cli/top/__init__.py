"""`cqc top`: what a running service does, in a terminal."""
