"""The engine that runs a compiled program."""
