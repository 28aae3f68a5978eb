"""Text to shared operator graph."""
