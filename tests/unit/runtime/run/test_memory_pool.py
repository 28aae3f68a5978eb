"""Arrow asks the system for memory in a run, unless the user has chosen something else."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from cqc.runtime.run.memory_pool import TidyRun, use_system_memory

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = pa.default_memory_pool()
    yield
    pa.set_memory_pool(before)


def test_memory_comes_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    use_system_memory()
    assert pa.default_memory_pool().backend_name == "system"


def test_what_the_user_chose_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pa.default_memory_pool().backend_name
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", before)
    use_system_memory()
    assert pa.default_memory_pool().backend_name == before


def test_readers_of_parquet_ask_the_system_too() -> None:
    """They look for their memory while Arrow is loaded; nobody else hears of that choice."""
    pytest.importorskip("pyarrow.parquet")
    if "mimalloc" not in pa.supported_memory_backends():
        pytest.skip("Arrow has no allocator of its own here")
    code = """
import io, os
from cqc.runtime.run.memory_pool import use_system_memory
use_system_memory()
import pyarrow as pa, pyarrow.parquet as pq
held = io.BytesIO()
pq.write_table(pa.table({"a": list(range(10_000))}), held)
assert pq.ParquetFile(held).read().num_rows == 10_000
print(pa.mimalloc_memory_pool().max_memory() or 0, "ARROW_DEFAULT_MEMORY_POOL" in os.environ)
"""
    environment = {
        name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"
    }
    finished = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert finished.stdout.split() == ["0", "False"]


def test_memory_is_given_back_early_and_then_now_and_then() -> None:
    done: list[int] = []
    times: list[int] = []
    tidy = TidyRun(lambda: times.append(len(done)), lambda: 0)
    for batch in range(1, 34):
        done.append(batch)
        tidy.counted()
    assert times == [1, 2, 4, 8, 16, 24, 32]


def test_memory_is_given_back_when_the_run_has_grown_by_much() -> None:
    resident, times = 100 << 20, []

    def give_back() -> None:
        nonlocal resident
        times.append(batch)
        resident -= 5 << 20

    tidy = TidyRun(give_back, lambda: resident)
    for batch in range(1, 8):
        if batch in (5, 7):
            resident += 30 << 20
        tidy.counted()
    assert times == [1, 2, 4, 5, 7]


def test_kernels_work_and_are_compiled_after_memory_was_given_back() -> None:
    numba = pytest.importorskip("numba")
    twice = numba.njit(lambda values: 2 * values.sum())
    assert twice(np.arange(4)) == 12
    tidy = TidyRun()
    for _ in range(4):
        tidy.counted()
    assert twice(np.arange(4)) == 12
    assert twice(np.ones(3)) == 6.0  # another kernel
