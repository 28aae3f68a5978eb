"""The functions a query can call: what each takes, gives and means, one entry per function, one module per family."""
