"""Deciding while it runs: trials, routing policies, sizes of packets."""
