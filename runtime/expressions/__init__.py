"""Evaluation by column: the kernels of the built-in functions, one module per family."""
