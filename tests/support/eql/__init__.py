"""Random EQL and what it should find."""
