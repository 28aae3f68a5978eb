"""Answers in the forms that people work with: Arrow tables, DataFrames of pandas and Polars, relations of DuckDB.

Each package is loaded when its form is asked for; who asks for one that is not installed is told what to install.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Literal

from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

    from cqc.runtime.deliver.results import ResultBlock

Form = Literal["arrow", "pandas", "polars", "duckdb"]
FORMS = ("arrow", "pandas", "polars", "duckdb")


def frame_of(table: pa.Table, to: Form) -> Any:
    """A table in one of the forms.

    Raises:
        RunError: when the form's package is not installed.
    """
    check_form(to)
    if to == "arrow":
        return table
    package = _loaded(to)
    if to == "pandas":
        return table.to_pandas()
    if to == "polars":
        return package.from_arrow(table)
    return package.from_arrow(table)


def frames_of(batches: Iterable[list[ResultBlock]], to: Form) -> dict[str, Any]:
    """What micro-batches found, a frame for each query that has results: the result time first, then its outputs."""
    check_form(to)
    import pyarrow as pa

    from cqc.runtime.sinks.parquet import table_of_block

    parts: dict[str, list[pa.Table]] = {}
    for blocks in batches:
        for block in blocks:
            if len(block):
                parts.setdefault(block.query, []).append(table_of_block(block))
    return {query: frame_of(pa.concat_tables(tables), to) for query, tables in parts.items()}


def check_form(to: str) -> None:
    """Raise a ValueError that names the forms when this is none."""
    if to not in FORMS:
        raise ValueError(f"results come as {', '.join(FORMS[:-1])} or {FORMS[-1]}, not as {to!r}")


def _loaded(package: str) -> Any:
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise RunError(f"{package} is not installed: pip install {package}") from error
