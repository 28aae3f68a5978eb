"""Results delivered to real systems: databases, brokers, an HTTP receiver."""
