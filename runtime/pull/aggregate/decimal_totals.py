"""SUM and AVG of DECIMAL: exact, whatever the order. A total that has too many digits fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import AggregateFunction
from cqc.compiler.meaning.types import DecimalType
from cqc.runtime.columns.sortable_columns import decimal_column, digits_of, divided

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Aggregate
    from cqc.runtime.columns.columns import Column


def decimal_totals(
    aggregate: Aggregate, column: Column, groups: NDArray[np.int64], group_count: int
) -> tuple[Column, int]:
    """The total or the mean of each group, and how many of them failed."""
    type_, own = aggregate.type, column.type
    assert isinstance(type_, DecimalType)
    assert isinstance(own, DecimalType)
    known = column.is_valid()
    totals = np.zeros(group_count, object)
    np.add.at(totals, groups[known], digits_of(column)[known].astype(object))
    counts = np.bincount(groups[known], minlength=group_count)
    present = counts > 0
    if aggregate.function is AggregateFunction.AVG:
        shift = 10 ** (type_.scale - own.scale)
        pairs = zip(totals.tolist(), counts.tolist(), strict=True)
        totals = np.array([divided(t * shift, n) if n else 0 for t, n in pairs], object)
    fits = np.array([abs(each) < 10**type_.digits for each in totals.tolist()], np.bool_)
    failed = int(np.count_nonzero(~fits & present))
    valid = present & fits
    made = decimal_column(type_, np.where(fits, totals, 0), None if valid.all() else valid)
    return made, failed
