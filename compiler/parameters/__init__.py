"""Parameters of programs and queries: `:NAME`, a typed constant that is given a value before anything is bound."""
