"""Declared relations and blocks of results for the runtime's unit tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.catalog import Column, Relation
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.deliver.results import ResultBlock

SPAN = Span(SourceFile("test", ""), 0, 0)


def relation(
    columns: dict[str, T],
    event_time: int | None = 0,
    delay_us: int = 0,
    options: dict[str, str] | None = None,
    folder: str = ".",
) -> Relation:
    declared = tuple(Column(name, type_) for name, type_ in columns.items())
    return Relation("s", declared, event_time, delay_us, options or {}, folder, SPAN)


EVERYTHING = relation(
    {"ts": T.TIMESTAMP, "x": T.BIGINT, "d": T.DOUBLE, "name": T.STRING, "ok": T.BOOLEAN}
)


def block(
    query: str,
    columns: dict[str, tuple[T, list[Any]]],
    times_us: list[int],
    picks: list[int] | None = None,
    time_type: T = T.TIMESTAMP,
    is_at: bool = False,
) -> ResultBlock:
    made = tuple(from_python(type_, values) for type_, values in columns.values())
    return ResultBlock(
        query,
        tuple(columns),
        made,
        None if picks is None else np.array(picks, dtype=np.int64),
        np.array(times_us, dtype=np.int64),
        time_type,
        is_at,
    )


# A push query with two results, and a pull query with one.
PUSHED = block(
    "q1", {"x": (T.BIGINT, [1, None]), "s": (T.STRING, ["a", ""])}, [2_000_000, 1_000_000]
)
PULLED = block("q2", {"n": (T.DOUBLE, [0.5])}, [1_500_000], time_type=T.DOUBLE, is_at=True)
