"""How far two texts are apart: changed, added and removed code points (Levenshtein), by one kernel over all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import PartialOutcome


def levenshtein(left: Column, right: Column, most: Column | None = None) -> PartialOutcome:
    """The distance on each row; -1 where it is more than `most`."""
    rows = max(_rows(left), _rows(right), 0 if most is None else most.values.size)
    first, second = _code_points(left), _code_points(right)
    distances = np.empty(rows, np.int64)
    _distances(*first, *second, distances)
    if most is not None:
        distances = np.where(distances > most.values, -1, distances)
    constant = all(_is_one(each) for each in (left, right)) and (
        most is None or most.values.ndim == 0
    )
    return distances[0] if constant else distances, None, None


def _is_one(column: Column) -> bool:
    return isinstance(column.values, pa.Scalar)


def _rows(column: Column) -> int:
    return 1 if _is_one(column) else len(column.values)


def _code_points(column: Column) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of all texts, one after the other, and where each text begins."""
    texts = [column.values.as_py()] if _is_one(column) else column.values.to_pylist()
    lengths = [0 if text is None else len(text) for text in texts]
    joined = "".join(text for text in texts if text is not None)
    points = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
    return points, np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)


@njit(cache=True, nogil=True)
def _distances(left, left_starts, right, right_starts, found):  # type: ignore[no-untyped-def]
    """A side of one text is that text on every row."""
    for row in range(len(found)):
        one = row if len(left_starts) > 2 else 0
        other = row if len(right_starts) > 2 else 0
        a = left[left_starts[one] : left_starts[one + 1]]
        b = right[right_starts[other] : right_starts[other + 1]]
        costs = np.arange(len(b) + 1)
        for i in range(len(a)):
            corner = costs[0]
            costs[0] = i + 1
            for j in range(len(b)):
                change = corner + (0 if a[i] == b[j] else 1)
                corner = costs[j + 1]
                costs[j + 1] = min(change, costs[j] + 1, corner + 1)
        found[row] = costs[len(b)]


def warm() -> None:
    """Compile this module's kernel."""
    points, starts = np.zeros(1, np.uint32), np.array([0, 1])
    _distances(points, starts, points, starts, np.zeros(1, np.int64))
