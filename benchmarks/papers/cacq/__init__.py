"""CACQ's experiments: shared filters, ticket routing, and joins beside NiagaraCQ's plans."""
