"""Data by column: columns, packets, values as text, event time."""
