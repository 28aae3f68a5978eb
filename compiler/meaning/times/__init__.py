"""Times as they are written: instants, durations, units, patterns and zones."""
