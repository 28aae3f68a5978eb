"""Programs with their input and what must come out of them: the cases of `.cqt` files, and who runs them."""
