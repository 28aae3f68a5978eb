"""When two answers are the same: as multisets of rows, with NaN equal to itself and one zero.

Sums and averages of DOUBLE may be added up in any order, so numbers are compared to twelve digits.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    Row = tuple[object, ...]


def pair_up(
    expected: Sequence[Row], got: Sequence[Row], *, ordered: bool = False
) -> list[tuple[int | None, int | None]] | None:
    """Which expected row is which row that came, by position; None when the answers are the same.

    Expected rows come in their order, then those that nobody expected.
    """
    wanted, found = [_canonical(row) for row in expected], [_canonical(row) for row in got]
    if ordered:
        return None if wanted == found else _line_by_line(len(wanted), len(found))
    if Counter(wanted) == Counter(found):
        return None
    places: dict[Hashable, list[int]] = {}
    for position in reversed(range(len(found))):
        places.setdefault(found[position], []).append(position)
    pairs: list[tuple[int | None, int | None]] = []
    for position, row in enumerate(wanted):
        same = places.get(row)
        pairs.append((position, same.pop() if same else None))
    left = sorted(position for same in places.values() for position in same)
    return [*pairs, *((None, position) for position in left)]


def is_same(expected: Row, got: Row) -> bool:
    """Whether two rows are the same."""
    return _canonical(expected) == _canonical(got)


def _line_by_line(expected: int, got: int) -> list[tuple[int | None, int | None]]:
    most = max(expected, got)
    return [(at if at < expected else None, at if at < got else None) for at in range(most)]


def _canonical(row: Row) -> Hashable:
    return tuple(map(_canonical_cell, row))


def _canonical_cell(value: object) -> Hashable:
    if isinstance(value, list | tuple):
        return ("ARRAY", *map(_canonical_cell, value))
    if isinstance(value, dict):
        return ("MAP", *((key, _canonical_cell(each)) for key, each in sorted(value.items())))
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if math.isnan(value):
        return "NaN as a number"
    return ("DOUBLE", "0" if value == 0 else f"{value:.12g}")
