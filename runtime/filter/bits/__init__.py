"""Conditions and tuples as rows of bits: what formulas become, and the pass that asks them all of a packet."""
