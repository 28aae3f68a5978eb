"""Mistakes as data, the text they are about, and what was probably meant."""
