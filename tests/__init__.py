"""The tests of cqc. See CONTRIBUTING.md for what lives where."""
