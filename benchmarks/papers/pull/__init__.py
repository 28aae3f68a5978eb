"""Pull queries over kept history."""
