"""Parts of conditions that several have are worked out once, and no part that can fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.expressions.compile.shared_parts import SharedParts, shareable_parts

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Expression
    from cqc.runtime.columns.columns import Column

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE);"


def condition(text: str) -> Expression:
    bound = cqc.compile(STREAM + f"CREATE QUERY q AS SELECT ts FROM s WHERE {text};").queries["q"]
    assert bound.where is not None
    return bound.where


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("k % 100 = 1", 1),
        ("(k % 100) % 7 = 1 AND k % 100 <> 3", 2),
        ("x * 2 + x > 3 * x", 2),
        ("k + 1 = 3", 0),
        ("k % ts = 3", 0),
        ("k % 0 = 3", 0),
        ("x / 2 + x * x > 1", 1),
        ("(k + 1) % 5 = 2", 0),
    ],
)
def test_the_largest_parts_that_cannot_fail_are_shared(text: str, count: int) -> None:
    assert len(set(shareable_parts(condition(text)))) == count


def test_a_part_is_worked_out_once_and_forgotten_with_its_last_condition() -> None:
    parts, conditions = SharedParts(), [condition(f"k % 100 = {number}") for number in range(3)]
    compiled = [parts.use(each) for each in conditions]
    assert len(parts) == 1
    asked: list[int] = []
    keys = from_python(ColumnType.BIGINT, [101, 2, None, -100])

    def columns(number: int) -> Column:
        asked.append(number)
        return keys

    source = parts.source(columns, 4, {})
    assert [each.is_true(source, 4).tolist() for each in compiled] == [
        [False, False, False, True],
        [True, False, False, False],
        [False, True, False, False],
    ]
    assert len(asked) == 1
    for each in conditions:
        parts.release(each)
    assert len(parts) == 0


def test_conditions_that_come_and_go_find_what_is_theirs() -> None:
    engine = cqc.Engine(cqc.compile(STREAM))
    for number in range(4):
        engine.register(f"SELECT k FROM s WHERE k % 10 = {number} OR x * 2 > 100", f"q{number}")
    engine.unregister("q0")
    engine.push("s", [{"ts": 1, "k": 11, "x": 1.0}, {"ts": 2, "k": 4, "x": 60.0}])
    found = [(each.query, each.row["k"]) for each in engine.drain()]
    assert sorted(found) == [("q1", 4), ("q1", 11), ("q2", 4), ("q3", 4)]
