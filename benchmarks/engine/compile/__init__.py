"""How long a large set of queries takes to compile."""
