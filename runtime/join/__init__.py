"""The join node: who sits at it, how a packet goes through it, and what it found."""
