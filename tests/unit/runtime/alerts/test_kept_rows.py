"""Rows that are kept by number."""

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.alerts.kept_rows import KeptRows
from cqc.runtime.columns.columns import Column
from cqc.runtime.windows.waiting_rows import Rows


def rows(*values: int) -> Rows:
    array = np.array(values, np.int64)
    return Rows(array, array, (Column(ColumnType.BIGINT, 10 * array),))


def test_rows_are_numbered_as_they_come_and_anew_when_some_go() -> None:
    kept = KeptRows([ColumnType.BIGINT])
    for at in range(100):
        kept.append(rows(at, 1000 + at))
    assert len(kept) == 200
    assert kept.take(np.array([3, 198])).columns[0].values.tolist() == [10010, 990]
    kept.keep(np.array([199, 0]))
    assert kept.all().ts_us.tolist() == [1099, 0]
    kept.append(rows(5))
    assert kept.all().ts_us.tolist() == [1099, 0, 5]
    assert kept.nbytes > 0


def test_nothing_is_kept_at_first() -> None:
    kept = KeptRows([ColumnType.BIGINT])
    kept.append(rows())
    assert len(kept) == 0
    assert len(kept.take(np.zeros(0, np.int64))) == 0
