"""Texts by the bytes of a whole column: kernels that read and write them."""
