"""Nexmark: the queries of examples/nexmark over the published generator's events."""
