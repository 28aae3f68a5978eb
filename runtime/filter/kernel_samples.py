"""A few formulas and tuples that reach every kernel of the grouped filter, to compile them ahead of time."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import AllOf, AnyOf, Formula, Interval, PatternAtom, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet

TYPES = (ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING)
_POINT = ValueAtom(0, ColumnType.BIGINT, (Interval(1, True, 1, True),))
_LIST = tuple(Interval(value, True, value, True) for value in (1.5, 2.5, 3.5, 4.5, 5.5))
_RANGE = ValueAtom(1, ColumnType.DOUBLE, (Interval(0.5, True, 2.5, False),))
_TEXT = ValueAtom(2, ColumnType.STRING, (Interval("a", True, "a", True),))
_LIKE = PatternAtom(2, PatternKind.LIKE, "%a%", "\\", negated=False)

FORMULAS: tuple[Formula, ...] = (
    AllOf((_POINT, _RANGE)),
    AnyOf((AllOf((_RANGE, _TEXT)), _LIKE)),
    ValueAtom(1, ColumnType.DOUBLE, _LIST),
    ValueAtom(2, ColumnType.STRING, (Interval("a", False, "b", True),)),
)


def sample_packets() -> list[Packet]:
    """The same tuples in memory that may be written to and in memory that may not, as Arrow gives it."""
    numbers, texts = np.array([1, 2], np.int64), pa.array(["a", "b"])
    return [_packet(numbers, texts, frozen=frozen) for frozen in (False, True)]


def _packet(
    numbers: np.ndarray[tuple[int], np.dtype[np.int64]], texts: pa.Array, *, frozen: bool
) -> Packet:
    whole, doubles = numbers.copy(), numbers.astype(np.float64)
    valid = np.ones(2, np.bool_)
    for array in (whole, doubles, valid):
        array.flags.writeable = not frozen
    columns = (
        Column(ColumnType.BIGINT, whole, valid),
        Column(ColumnType.DOUBLE, doubles, None),
        Column(ColumnType.STRING, texts, None),
    )
    return Packet(columns, numbers, numbers)
