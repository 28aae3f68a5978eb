"""Sources that are no files, with the real thing at the other end."""
