"""The graph on Spark's executors, beside the floor that Spark itself sets."""
