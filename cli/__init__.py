"""The command `cqc`: one file per command."""
