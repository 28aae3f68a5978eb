"""Expressions, conditions and times in words, as the language would write them."""
