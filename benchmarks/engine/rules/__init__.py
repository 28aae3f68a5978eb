"""Thousands of detection rules over the events of Windows machines, from files to results."""
