"""The engine inside Spark against the same source with nothing to do."""
