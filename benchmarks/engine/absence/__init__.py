"""Anti-join rules: what did not happen, for one rule and for a thousand."""
