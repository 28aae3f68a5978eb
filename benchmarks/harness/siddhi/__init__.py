"""Siddhi, a peer of the filter and join benchmarks, in a Java process of its own."""
