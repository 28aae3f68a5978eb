"""Functions that only the compiler calls: instants of event times, and a pattern of its own for each row."""

from __future__ import annotations

import pytest

from cqc.compiler.meaning.bound import INSTANT, MATCH_CALLS, PatternKind
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.expressions.compile.scalar_functions import UNNAMED_KERNELS
from cqc.runtime.expressions.expression_kernels import constant

NAMES = {kind: name for name, kind in MATCH_CALLS.items()}


def test_a_number_of_seconds_is_an_instant_and_a_timestamp_is_one_already() -> None:
    instant = UNNAMED_KERNELS[INSTANT]
    assert instant(from_python(T.BIGINT, [0, 2]))[0].tolist() == [0, 2_000_000]
    assert instant(from_python(T.TIMESTAMP, [5]))[0].tolist() == [5]


@pytest.mark.parametrize(
    ("kind", "patterns", "expected"),
    [
        (PatternKind.LIKE, ["a%", "A%", "_b"], [True, False, True]),
        (PatternKind.ILIKE, ["a%", "A%", "_c"], [True, True, False]),
        (PatternKind.RLIKE, ["^a", "b$", "x"], [True, True, False]),
    ],
)
def test_each_row_has_a_pattern_of_its_own(
    kind: PatternKind, patterns: list[str], expected: list[bool]
) -> None:
    match = UNNAMED_KERNELS[NAMES[kind]]
    texts = from_python(T.STRING, ["ab"] * 3)
    values, failed = match(texts, from_python(T.STRING, patterns), constant("\\", T.STRING))
    assert values.tolist() == expected
    assert failed is None or not failed.any()


def test_a_pattern_that_is_none_fails_on_its_row_alone() -> None:
    match = UNNAMED_KERNELS[NAMES[PatternKind.RLIKE]]
    texts = from_python(T.STRING, ["ab", "ab"])
    values, failed = match(texts, from_python(T.STRING, ["(", "a"]), constant("\\", T.STRING))
    assert failed is not None
    assert failed.tolist() == [True, False]
    assert values[1]
