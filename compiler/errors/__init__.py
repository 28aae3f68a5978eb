"""One page per error code, shown by `cqc explain CODE`."""
