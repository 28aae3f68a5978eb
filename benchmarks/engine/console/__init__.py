"""The console with a hundred thousand queries: `cqc bench console`."""
