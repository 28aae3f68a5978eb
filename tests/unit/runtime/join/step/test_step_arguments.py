"""Groups of arguments: plain tuples outside, named inside a kernel."""

from __future__ import annotations

import numpy as np

from cqc.runtime.join.step.step_arguments import RowBlock, Windows
from cqc.runtime.kernel import njit


@njit(cache=False)
def named(rows, windows):  # type: ignore[no-untyped-def]
    rows, windows = RowBlock(*rows), Windows(*windows)
    return rows.ts[0, 1] + windows.cuts[0] + len(windows.sets)


def test_a_kernel_names_what_it_is_handed_as_a_plain_tuple() -> None:
    rows = (np.zeros((1, 2), np.int64), np.array([[1, 20]]), np.zeros((2, 1), np.uint64))
    windows = (np.array([0, 1]), np.array([300]), np.zeros((2, 1), np.uint64))
    assert named(rows, windows) == 322
    assert RowBlock(*rows).ts is rows[1]
