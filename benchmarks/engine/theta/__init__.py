"""Many theta joins with relative windows."""
