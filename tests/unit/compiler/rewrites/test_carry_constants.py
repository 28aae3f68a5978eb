"""Constants go across equi-joins of one type, and nowhere else."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.meaning.normal import ALWAYS, NEVER, ValueAtom

_COLUMNS = "ts BIGINT, a BIGINT, d DOUBLE, s STRING"
_STREAMS = "".join(f"CREATE STREAM {name} ({_COLUMNS});" for name in "RST")


def points(where: str) -> list[object]:
    """For R, S and T the values that its filter allows; None without filter."""
    text = f"{_STREAMS} SELECT R.a FROM R, S, T WHERE {where} MAXWINDOW 5 SEC"
    found: list[object] = []
    for formula in cqc.compile(text).normal("q1").filters:
        if isinstance(formula, ValueAtom):
            found.append([each.low for each in formula.intervals])
        else:
            found.append({ALWAYS: None, NEVER: []}[formula])
    return found


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("R.a = S.a AND R.a = 5", [[5], [5], None]),
        ("R.a = S.a AND S.a = T.a AND T.a IN (3, 7)", [[3, 7], [3, 7], [3, 7]]),
        ("R.s = S.s AND 'x' = S.s", [["x"], ["x"], None]),
        ("R.a = S.a AND (R.a = 5 OR R.a IS NULL)", [[5], [5], None]),
    ],
)
def test_a_constant_holds_for_every_column_that_is_equal(where: str, wanted: list[object]) -> None:
    assert points(where) == wanted


def test_constants_that_contradict_each_other_leave_nothing() -> None:
    assert points("R.a = S.a AND R.a IN (5, 7) AND S.a = 6") == [[], [], None]


def test_columns_of_two_types_keep_their_constants_to_themselves() -> None:
    assert points("R.a = S.d AND R.a = 5") == [[5], None, None]


def test_a_comparison_that_is_no_equality_carries_nothing() -> None:
    assert points("R.a < S.a AND R.a = 5") == [[5], None, None]
