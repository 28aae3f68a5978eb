"""Which join answers a host, and when another one is tried."""
