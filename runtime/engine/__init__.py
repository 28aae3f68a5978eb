"""The engine as its users see it, and the operators that run for them."""
