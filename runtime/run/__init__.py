"""Runs: what reads sources, drives the engine by micro-batches, and feeds the sink."""
