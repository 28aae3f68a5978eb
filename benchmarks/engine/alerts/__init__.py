"""Alerts beside plain filters of the same conditions, and results on their way to receivers."""
