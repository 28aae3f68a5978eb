"""The place where pySigma looks for the backend of cqc."""

from cqc.importers.sigma.backend import CqcBackend

__all__ = ["CqcBackend", "backends"]

backends = {"cqc": CqcBackend}
