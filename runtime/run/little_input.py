"""Whether a run has so little to do that Python may run its kernels: loading Numba would take longer (`runtime/kernel`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.run.finite_run import source_path

if TYPE_CHECKING:
    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions

PLAIN_S = 0.3  # that kernels may take before Numba is loaded after all: about what that takes
_MOST_BYTES = 16_384  # of all files together: some hundred rows
_MOST_QUERIES = 64
_BY_LINE = (
    ".csv",
    ".tsv",
    ".txt",
    ".json",
    ".jsonl",
    ".ndjson",
)  # whose rows are as many as their bytes tell


def has_little_input(program: Program, options: RunOptions) -> bool:
    """Whether all files of the program are small, and its queries few."""
    if len(program.queries) > _MOST_QUERIES:
        return False
    size = 0
    for relation in program.catalog.relations.values():
        try:
            path = source_path(relation, options.binds)
            if not path.is_file() or path.suffix.lower() not in _BY_LINE:
                return False
            size += path.stat().st_size
        except (RunError, OSError):  # whoever opens it says so
            return False
    return size <= _MOST_BYTES
