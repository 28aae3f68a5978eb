"""Who sits at a join node: hosts, their bodies, slots, and the lineage beside the tuples."""
