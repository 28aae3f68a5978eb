"""ShuffleBench: many consumers of a stream, each with a range of a hash."""
