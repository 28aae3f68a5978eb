from __future__ import annotations

import numpy as np
import pytest

from cqc.compiler.meaning.bound import TableWindow, WindowKind
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.windows.window_ends import window_ends


def ends(slide: int, size: int, ts: int, *, after_start: bool = False) -> list[int]:
    kind = WindowKind.TUMBLE if slide == size else WindowKind.HOP
    window = TableWindow(kind, slide, size, ColumnType.BIGINT, after_start=after_start)
    return sorted(window_ends(window, np.array([ts], np.int64))[1].tolist())


@pytest.mark.parametrize("ts", range(-12, 13))
@pytest.mark.parametrize(("slide", "size"), [(5, 5), (2, 5), (5, 10), (7, 3), (1, 4)])
def test_a_tuple_is_in_every_window_that_holds_its_time(slide: int, size: int, ts: int) -> None:
    starts = range(-60, 60)
    held = [at + size for at in starts if at % slide == 0 and at <= ts < at + size]
    assert ends(slide, size, ts) == held
    held = [at + size for at in starts if at % slide == 0 and at < ts <= at + size]
    assert ends(slide, size, ts, after_start=True) == held
