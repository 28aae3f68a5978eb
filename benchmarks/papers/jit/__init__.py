"""The clique joins of the JIT paper (section VI): what feedback saves in time, partial results and state."""
