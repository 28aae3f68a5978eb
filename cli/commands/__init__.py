"""One file per command: parse options, call the library, print."""
