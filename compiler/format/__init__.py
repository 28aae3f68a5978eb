"""`cqc fmt`: a program as canonical text."""
