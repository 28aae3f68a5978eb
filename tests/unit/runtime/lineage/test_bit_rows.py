"""What is written in machine instructions for compiled kernels is the same where Python runs them."""

from __future__ import annotations

import subprocess
import sys

from tests.support.waiting import PATIENCE_S

_BITS = """
import sys
import numpy as np
from cqc.runtime.columns.array_addresses import address
from cqc.runtime.kernel import begin_plain
from cqc.runtime.lineage import bit_rows
begin_plain(60.0)
random = np.random.default_rng(5)
table = random.integers(0, 1 << 63, (6, 8), np.uint64)
rows, out = np.array([0, 2, 3, 5], np.uint32), np.zeros(8, np.uint64)
bit_rows.conjunction(address(table), address(rows), 0, 4, address(out))
assert (out == ((table[0] ^ table[2]) & (table[3] ^ table[5]))).all()
bit_rows.conjunction_past_caches(address(table), address(rows), 2, 4, address(out))
assert (out == (table[3] ^ table[5])).all()
united = table.copy()
bit_rows.accumulate(address(united), address(rows), 0, 3)
assert (united[3] == (table[0] | table[2] | table[3])).all() and (united[5] == table[5]).all()
bit_rows.clear(address(united), address(rows), 1, 3)
assert not united[[2, 3]].any() and united[[0, 5]].any()
numbers = np.arange(64, dtype=np.int32)
assert bit_rows.inside(address(numbers), 2, 5) == 0b111000
assert (bit_rows.popcount(np.uint64(0b1011)), bit_rows.lowest_bit(np.uint64(1 << 63))) == (3, 63)
assert bit_rows.double_bits(-2.5) == int(np.float64(-2.5).view(np.int64))
assert "numba" not in sys.modules
print("alike")
"""


def test_operations_on_bits_without_numba() -> None:
    finished = subprocess.run(
        [sys.executable, "-c", _BITS],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert finished.stdout == "alike\n", finished.stderr
