"""Kernels of the functions on dates and instants, and the calendar that they count by."""
