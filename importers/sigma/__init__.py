"""Sigma rules, correlation rules and filters as programs: a backend for pySigma, and `cqc import sigma`."""
