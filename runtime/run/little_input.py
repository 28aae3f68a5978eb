"""Whether a run has so little to do that Python may run its kernels: loading Numba would take longer (`runtime/kernel`).

On a machine where no kernel was ever compiled, as after an installation, the bar is higher: compiling those of one join takes twenty CPU-s.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.columns.event_time import span
from cqc.runtime.errors import RunError
from cqc.runtime.kernel import begin_plain, is_kept
from cqc.runtime.run.finite_run import source_path

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions

_PLAIN_S = 0.3  # that kernels may take before Numba is loaded after all: about what that takes
_UNCOMPILED_S = 8.0  # and when they would have to be compiled: less than that takes
_MOST_BYTES = 16_384  # of all files together: some hundred rows
_MOST_BYTES_UNCOMPILED = (
    262_144  # some thousand rows, which Python does in about as many milliseconds
)
_MOST_QUERIES = 64
_BY_LINE = (
    ".csv",
    ".tsv",
    ".txt",
    ".json",
    ".jsonl",
    ".ndjson",
)  # whose rows are as many as their bytes tell
_BYTES_A_VALUE = 10  # of a file that says how many it has


def begin_plain_if_little(program: Program, options: RunOptions) -> None:
    """Let Python run the kernels of a program where there is so little to do."""
    if has_little_input(program, options, is_compiled=_is_any_compiled()):
        begin_plain(_PLAIN_S, _UNCOMPILED_S)


def has_little_input(program: Program, options: RunOptions, *, is_compiled: bool = True) -> bool:
    """Whether all files of the program are small, and its queries few."""
    if len(program.queries) > _MOST_QUERIES:
        return False
    most = _MOST_BYTES if is_compiled else _MOST_BYTES_UNCOMPILED
    size = 0
    for relation in program.catalog.relations.values():
        try:
            path = source_path(relation, options.binds)
            size += _size(path) if path.is_file() else most + 1
        except (RunError, OSError, ValueError):  # whoever opens it says so
            return False
        if size > most:
            return False
    return True


def _is_any_compiled() -> bool:
    """Whether kernels were ever compiled here: told by one that each run calls."""
    return is_kept(span.py_func)


def _size(path: Path) -> int:
    """How many bytes a file has, or would have as text."""
    if path.suffix.lower() in _BY_LINE:
        return path.stat().st_size
    if path.suffix.lower() == ".parquet" and path.stat().st_size <= _MOST_BYTES_UNCOMPILED:
        from pyarrow.parquet import read_metadata

        told = read_metadata(path)
        return int(told.num_rows) * int(told.num_columns) * _BYTES_A_VALUE
    return _MOST_BYTES_UNCOMPILED + 1
