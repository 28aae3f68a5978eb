"""What operators did so far, as typed objects that every report reads."""
