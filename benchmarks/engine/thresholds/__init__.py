"""Sliding thresholds: a thousand rules beside one."""
