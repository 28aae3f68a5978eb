"""The service under load: `cqc bench serve`."""
