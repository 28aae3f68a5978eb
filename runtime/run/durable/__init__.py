"""Runs that survive a crash: checkpoints, and what is in them."""
