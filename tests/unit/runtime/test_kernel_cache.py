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
    # The user's own folder of kernels must not matter here.
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    finished = subprocess.run(
        [sys.executable, "-c", _CALL, str(folder)],
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
