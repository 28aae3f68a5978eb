from __future__ import annotations

import math
import random
from typing import Any

import pytest

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.filter.point_index import PointIndex


def hits(index: PointIndex, type_: ColumnType, values: list[Any]) -> list[tuple[int, int]]:
    tuples, atoms = index.hits(from_python(type_, values))
    return sorted(zip(tuples.tolist(), atoms.tolist(), strict=True))


def test_value_hits_every_list_that_has_it() -> None:
    index = PointIndex(ColumnType.STRING)
    index.add(7, ["a", "b"])
    index.add(8, ["b", ""])
    assert hits(index, ColumnType.STRING, ["b", "c", None, "a", ""]) == [
        (0, 7), (0, 8), (3, 7), (4, 8),
    ]  # fmt: skip


def test_few_texts_among_null_and_texts_longer_than_any_point() -> None:
    index = PointIndex(ColumnType.STRING)
    index.add(7, ["abc"])
    index.add(8, [""])
    values = [None, "abc", "x" * 50, None, None, "", None, "abd", None, None, None, None]
    assert hits(index, ColumnType.STRING, values) == [(1, 7), (5, 8)]


def test_doubles_hit_by_value() -> None:
    index = PointIndex(ColumnType.DOUBLE)
    index.add(1, [0.0, math.nan, 2.5])
    assert hits(index, ColumnType.DOUBLE, [-0.0, math.nan, -math.nan, 2.5, None, 2.0]) == [
        (0, 1), (1, 1), (2, 1), (3, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("type_", [ColumnType.BIGINT, ColumnType.STRING])
def test_lists_that_come_and_go_agree_with_sets(type_: ColumnType) -> None:
    rng = random.Random(1)
    kind = str if type_ is ColumnType.STRING else int
    index, lists = PointIndex(type_), dict[int, list[Any]]()
    for round_ in range(10):
        for _ in range(60):
            atom = rng.randrange(80)
            if atom in lists:
                index.remove(atom, lists.pop(atom))
            else:
                lists[atom] = [kind(rng.randrange(round_ * 20, 400)) for _ in range(5)]
                lists[atom] = list(dict.fromkeys(lists[atom]))
                index.add(atom, lists[atom])
        values = [kind(value) for value in range(0, 400, 3)]
        expected = [
            (at, atom)
            for at, value in enumerate(values)
            for atom in sorted(lists)
            if value in lists[atom]
        ]
        assert hits(index, type_, values) == expected
