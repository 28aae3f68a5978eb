"""One file per form in which a compiled program is shown."""
