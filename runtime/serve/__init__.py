"""The engine as a long-running service: register, leave, come back, ask."""
