"""The web as senders of results meet it."""
