"""An array described by address and size is the array itself, for kernels."""

from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.columns.array_addresses import address, carray, pointer
from cqc.runtime.kernel import njit


@njit(cache=False)
def double_at(where, rows, width):  # type: ignore[no-untyped-def]
    array = carray(pointer(where), (rows, width), np.int64)
    for row in range(rows):
        for at in range(width):
            array[row, at] *= 2


def test_a_kernel_changes_the_array_at_an_address() -> None:
    array = np.arange(6).reshape(2, 3)
    double_at(address(array), 2, 3)
    assert array.tolist() == [[0, 2, 4], [6, 8, 10]]


def test_an_array_with_gaps_has_no_address() -> None:
    with pytest.raises(AssertionError):
        address(np.arange(6)[::2])
