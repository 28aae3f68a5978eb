"""The filter of a join item against the judge of formulas, over all kinds of atoms."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import (
    ALWAYS,
    NEVER,
    AllOf,
    AnyOf,
    Formula,
    Interval,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.membership.item_filter import ItemFilter

_TYPES = (ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING, ColumnType.BOOLEAN)
_ROWS = [
    (0, 0.0, "x", True),
    (3, -0.0, "xyz", False),
    (None, 1.5, None, None),
    (5, float("nan"), "", True),
    (-4, float("inf"), "y", False),
    (7, None, "x", True),
]


def _packet() -> Packet:
    columns = tuple(
        from_python(type_, [row[at] for row in _ROWS]) for at, type_ in enumerate(_TYPES)
    )
    return Packet(columns, np.arange(len(_ROWS)), np.arange(len(_ROWS)))


def _atom(column: int, *intervals: Interval, null: bool = False) -> ValueAtom:
    return ValueAtom(column, _TYPES[column], intervals, null)


@pytest.mark.parametrize(
    ("formula", "wanted"),
    [
        (ALWAYS, [0, 1, 2, 3, 4, 5]),
        (NEVER, []),
        (_atom(0, Interval(3, True, None, False)), [1, 3, 5]),
        (_atom(0, Interval(3, False, 7, False)), [3]),
        (_atom(0, null=True), [2]),
        (_atom(0, Interval(None, False, 0, False), Interval(0, False, None, False)), [1, 3, 4, 5]),
        (_atom(1, Interval(0.0, True, 0.0, True)), [0, 1]),
        (_atom(1, Interval(1.5, False, None, False)), [3, 4]),
        (_atom(1, Interval(None, False, 1.5, False), null=True), [0, 1, 5]),
        (_atom(1, Interval(float("nan"), True, None, False)), [3]),
        (_atom(3, Interval(True, True, True, True)), [0, 3, 5]),
        (_atom(2, Interval("x", True, "x", True)), [0, 5]),
        (PatternAtom(2, PatternKind.LIKE, "x%", "\\", negated=False), [0, 1, 5]),
        (
            AllOf(
                (
                    _atom(0, Interval(0, True, None, False)),
                    _atom(1, Interval(None, False, 1.0, True)),
                )
            ),
            [0, 1],
        ),
        (
            AnyOf((_atom(0, Interval(7, True, 7, True)), _atom(1, Interval(1.5, True, 1.5, True)))),
            [2, 5],
        ),
    ],
)
def test_each_kind_of_formula_finds_its_tuples(formula: Formula, wanted: list[int]) -> None:
    filter_ = ItemFilter(_TYPES)
    filter_.add(0, ALWAYS)
    filter_.add(70, formula)
    filter_.add(3, _atom(0, Interval(1, True, None, False)))
    lineage = filter_.match(_packet())
    assert np.flatnonzero(lineage[:, 1] & np.uint64(1 << 6)).tolist() == wanted
    assert np.flatnonzero(lineage[:, 0] & np.uint64(1)).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_removed_slot_has_no_bits() -> None:
    filter_ = ItemFilter(_TYPES)
    filter_.add(0, ALWAYS)
    filter_.add(1, _atom(2, Interval("x", True, "x", True)))
    filter_.remove(0)
    filter_.remove(1)
    assert not filter_.match(_packet()).any()
