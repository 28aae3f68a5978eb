"""The experiments of the papers, each with its figures."""
