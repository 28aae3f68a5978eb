"""Kernels are found in their files by the next process, which fills no registry of Numba's for that."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

_SOURCE = """
from cqc.runtime.kernel import njit

@njit(cache=True, nogil=True)
def added(one, two):
    return one + two
"""
_CALL = """
import sys
sys.path.insert(0, sys.argv[1])
from sums import added
assert added.stats.cache_path is not None
before = "numba.np.linalg" in sys.modules
print(added(1, 2), sum(added.stats.cache_hits.values()), before, "numba.np.linalg" in sys.modules)
print(added(1.5, 2), added.py_func(1, 1))
"""


def _call(folder: Path) -> list[str]:
    return _run(_CALL, str(folder))


def _run(program: str, *arguments: str) -> list[str]:
    # The user's own folder of kernels must not matter here.
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    finished = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_S,
        env=environment,
    )
    return finished.stdout.splitlines()


def test_a_kernel_is_compiled_once_and_then_read(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(_SOURCE)
    assert _call(tmp_path) == ["3 0 False True", "3.5 2"]
    assert _call(tmp_path) == ["3 1 False False", "3.5 2"]


def test_a_kernel_whose_source_changed_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "sums.py").write_text(_SOURCE)
    _call(tmp_path)
    (tmp_path / "sums.py").write_text(_SOURCE.replace("one + two", "one + two + 10"))
    assert _call(tmp_path)[0] == "13 0 False True"


_PARTS = """
import numpy as np
from cqc.runtime.kernel import njit

@njit(cache=True, nogil=True)
def doubled(values):
    return np.sort(values) * 2

@njit(cache=True, nogil=True)
def total(values):
    if len(values) == 0:
        raise ValueError("nothing to add up")
    return doubled(values).sum()
"""
_USE = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from parts import doubled, total
print(doubled(np.array([3, 1])).tolist(), sum(doubled.stats.cache_hits.values()))
if len(sys.argv) > 2:
    print(total(np.array([3, 1])), sum(total.stats.cache_hits.values()))
    try:
        total(np.zeros(0, np.int64))
    except ValueError as wrong:
        print(wrong)
print("numba.np.arrayobj" in sys.modules)
"""


def test_a_kernel_that_was_read_becomes_part_of_one_that_is_compiled(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(_PARTS)
    assert _run(_USE, str(tmp_path)) == ["[2, 6] 0", "True"]
    found = ["[2, 6] 1", "8 0", "nothing to add up", "True"]
    assert _run(_USE, str(tmp_path), "total") == found


def test_a_kernel_that_is_read_imports_no_module_of_its_parts(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(_PARTS)
    _run(_USE, str(tmp_path), "total")
    found = ["[2, 6] 1", "8 1", "nothing to add up", "False"]
    assert _run(_USE, str(tmp_path), "total") == found
