"""When two answers are the same: as multisets of rows, with NaN equal to itself and one zero.

Sums and averages of DOUBLE may be added up in any order, so numbers are compared to twelve digits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

Cell = object
Answer = Sequence[tuple[Cell, ...]]


def canonical_cell(value: Cell) -> Cell:
    if isinstance(value, bool) or not isinstance(value, float):
        return value
    if math.isnan(value):
        return "NaN as a number"
    if value == 0:
        return ("DOUBLE", "0")
    return ("DOUBLE", f"{value:.12g}")


def canonical(rows: Iterable[tuple[Cell, ...]]) -> list[tuple[Cell, ...]]:
    return [tuple(canonical_cell(value) for value in row) for row in rows]


def difference(expected: Answer, actual: Answer, *, ordered: bool = False) -> str | None:
    """What is missing and what is too many, in words; None when the answers are the same."""
    wanted, found = canonical(expected), canonical(actual)
    if ordered and wanted == found:
        return None
    missing, extra = Counter(wanted) - Counter(found), Counter(found) - Counter(wanted)
    if missing or extra:
        lines = [f"  missing: {row}" for row in list(missing.elements())[:5]]
        lines += [f"  not expected: {row}" for row in list(extra.elements())[:5]]
        return f"{len(expected)} rows expected, {len(actual)} found\n" + "\n".join(lines)
    if ordered:
        return f"  wrong order: {actual}\n  expected: {expected}"
    return None
