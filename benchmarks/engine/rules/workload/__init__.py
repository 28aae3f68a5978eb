"""Rules and events of the shape that public detection rules and recorded events have."""
