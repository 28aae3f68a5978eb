"""The same rules in other engines, each a command that reads files and writes results."""
