"""`cqc shell`: statements typed at a prompt or piped in, answered as tables."""
