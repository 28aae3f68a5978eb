"""What the user wrote: tokens, tables of the grammar, the syntax tree and how it is built."""
