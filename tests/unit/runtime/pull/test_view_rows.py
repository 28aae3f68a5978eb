"""Which rows of a view lie in a window: by result time, by instant, or those of the window itself."""

from __future__ import annotations

import numpy as np

import cqc
from cqc.compiler.meaning.bound import Instant, Pull
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.pull.view_rows import row_times, together


def asked(end: Instant) -> Pull:
    return Pull(Instant(True, -1, False), end, 10, False, (), None, (), None, True)


def test_the_time_of_a_row_is_the_instant_or_a_later_end() -> None:
    instants = np.array([10, 20])
    assert row_times(asked(Instant(True, 0, False)), instants).tolist() == [10, 20]
    assert row_times(asked(Instant(True, 5, False)), instants).tolist() == [15, 25]
    assert row_times(asked(Instant(True, -5, False)), instants).tolist() == [10, 20]
    assert row_times(asked(Instant(False, 15, False)), instants).tolist() == [15, 20]


def test_parts_without_rows_need_no_columns() -> None:
    one = (from_python(ColumnType.BIGINT, [1, 2]),)
    nothing = np.zeros(0, np.int64)
    columns, times = together([((), nothing), (one, np.array([5, 6])), (one, np.array([7, 8]))])
    assert columns[0].values.tolist() == [1, 2, 1, 2]
    assert times.tolist() == [5, 6, 7, 8]
    assert together([((), nothing)])[0] == ()


def test_rows_that_are_not_decided_count_as_if_the_input_ended_now() -> None:
    engine = cqc.Engine(
        cqc.compile(
            "CREATE STREAM s (ts BIGINT, k BIGINT, WATERMARK FOR ts AS ts - 60);"
            "CREATE VIEW per AS SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC;"
            "CREATE QUERY q AS SELECT ts, n FROM per BEGIN 0 END NOW ORDER BY ts"
        )
    )
    engine.push("s", [{"ts": ts, "k": 1} for ts in (1, 2, 15, 20, 29)])
    assert engine.invoke("q").to_pylist() == [{"ts": 10, "n": 2}, {"ts": 20, "n": 2}]
