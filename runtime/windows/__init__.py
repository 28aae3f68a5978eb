"""Queries whose rows wait for the watermark: windows, sessions, and OVER per key."""
