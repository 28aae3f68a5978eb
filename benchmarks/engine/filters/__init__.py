"""Many range queries over one stream."""
