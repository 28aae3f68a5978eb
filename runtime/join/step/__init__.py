"""One step of a join: extend partial combinations by one item more."""
