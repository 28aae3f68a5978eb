"""Names resolved, types known, clauses checked: one file per clause."""
