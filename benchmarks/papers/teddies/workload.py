"""Teddies' input: a windowed three-way join R.a = S.a, S.b = T.b over uniform whole numbers.

The paper doubles the window to double the selectivity. Here the window stays, at `WINDOW` tuples of a stream, and the values are
halved: the selectivities are the same, and at all of them a window holds more than a micro-batch. The first micro-batch fills the
windows and is not timed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.benchmarks.harness.side_by_side import micro_batches
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler import Program
    from cqc.runtime.intake.typed_batch import TypedBatch

WINDOW = 512  # tuples of a stream
GAP_US = 1_000  # between two tuples of a stream
SELECTIVITIES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MOST_TUPLES, _LEAST_TUPLES = 1_024, 64  # of a stream
_RESULTS = 2_000_000  # about so many are timed, within these bounds
_BATCH = 256  # tuples of a stream in a micro-batch
_COLUMNS = {"R": ("a",), "S": ("a", "b"), "T": ("b",)}


def program() -> Program:
    """The join."""
    streams = "".join(
        f"CREATE STREAM {name} (ts TIMESTAMP, {', '.join(f'{column} BIGINT' for column in columns)});\n"
        for name, columns in _COLUMNS.items()
    )
    return cqc.compile(
        f"{streams}SELECT R.ts AS r, S.ts AS s, T.ts AS t FROM R, S, T "
        f"WHERE R.a = S.a AND S.b = T.b MAXWINDOW {WINDOW * GAP_US // 1_000} MS;"
    )


def batches(selectivity: int) -> list[Mapping[str, TypedBatch]]:
    """Micro-batches of the three streams, in which a probe finds about so many partners; the first fills the windows."""
    random = np.random.default_rng(selectivity)
    timed = min(_MOST_TUPLES, max(_LEAST_TUPLES, _RESULTS // (3 * selectivity**2)))
    streams = {}
    for name, columns in _COLUMNS.items():
        count = WINDOW + timed
        streams[name] = {"ts": GAP_US * np.arange(count)}
        for column in columns:
            streams[name][column] = random.integers(0, WINDOW // selectivity, count)
    types = {"ts": ColumnType.TIMESTAMP, "a": ColumnType.BIGINT, "b": ColumnType.BIGINT}
    first = {
        name: {key: values[:WINDOW] for key, values in own.items()} for name, own in streams.items()
    }
    rest = {
        name: {key: values[WINDOW:] for key, values in own.items()} for name, own in streams.items()
    }
    cut = [batch for batch in micro_batches(rest, types, _BATCH * GAP_US) if batch]
    return [*micro_batches(first, types, (WINDOW + 1) * GAP_US), *cut]
