"""The network side of the service: routes, bodies, answers, access."""
