"""What is said of rows that came in."""

from __future__ import annotations

from collections import Counter

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.intake.intake_warnings import intake_warnings
from cqc.runtime.intake.stream_input import StreamCount
from tests.support.relations import relation

EVENTS = relation({"ts": T.BIGINT, "userIdentity.type": T.STRING, "kind": T.STRING})


def test_nothing_is_said_of_rows_that_fit() -> None:
    assert intake_warnings(EVENTS, StreamCount(read=2, absent=[]), 5_000_000) == []
    assert intake_warnings(EVENTS, StreamCount(), None) == []


def test_a_column_that_no_row_had_is_looked_for_inside_others() -> None:
    count = StreamCount(read=1, absent=["userIdentity.type"])
    count.sample = '{"ts": 1, "userIdentity": {"type": "Root"}}'
    (said,) = intake_warnings(EVENTS, count, 0)
    assert "userIdentity.type is inside userIdentity" in said
    assert "FROM 'userIdentity.type'" in said


def test_a_column_that_no_row_had_may_be_misspelt() -> None:
    count = StreamCount(read=1, absent=["kind"], sample='{"ts": 1, "kinds": 2}')
    (said,) = intake_warnings(EVENTS, count, 0)
    assert "Did you mean `kinds`" in said


def test_rows_that_were_mostly_rejected_are_told_loudly() -> None:
    count = StreamCount(read=3, rejected=2, reasons=Counter({"x is not a BIGINT": 2}))
    (said,) = intake_warnings(EVENTS, count, 0)
    assert said.startswith("MOST ROWS of s WERE REJECTED (2 of 3)")
    assert intake_warnings(EVENTS, StreamCount(read=4, rejected=2), 0) == []


def test_milliseconds_in_a_time_that_counts_seconds() -> None:
    (said,) = intake_warnings(EVENTS, StreamCount(read=1), 1_700_000_000_000 * 1_000_000)
    assert "`ts TIMESTAMP` WITH (timestamp = 'millis')" in said
    assert intake_warnings(EVENTS, StreamCount(read=1), 1_700_000_000 * 1_000_000) == []


def test_columns_that_nobody_can_help_with_are_one_sentence() -> None:
    names = [f"c{at}" for at in range(14)]
    stream = relation({"ts": T.BIGINT, "user": T.STRING} | dict.fromkeys(names, T.STRING))
    count = StreamCount(read=1, absent=["user", *names], sample='{"ts": 1, "a": {"user": "x"}}')
    first, second = intake_warnings(stream, count, 0)
    assert first.startswith("no row of s had user; a.user is inside a: declare ")
    assert second == f"no row of s had {', '.join(names[:10])} and 4 more"


def test_help_is_offered_only_where_it_helps() -> None:
    def said(reason: str) -> str:
        count = StreamCount(read=1, rejected=1, reasons=Counter({reason: 1}))
        return intake_warnings(EVENTS, count, 0)[0]

    assert "on_bad = 'null'" in said("kind is not a STRING")
    for reason in ("ts is not a BIGINT", "ts is NULL", "not an object", "not JSON"):
        assert said(reason).startswith("ALL ROWS of s WERE REJECTED (1 of 1)")
        assert "on_bad" not in said(reason)
