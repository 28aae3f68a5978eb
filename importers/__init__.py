"""Programs made of the rules of other systems: Sigma and EQL."""
