"""Values from outside into columns, and columns out again: Arrow, Python, nested values."""
