"""Arrow asks the system for memory in a run, unless the user has chosen something else."""

from __future__ import annotations

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


def test_memory_is_given_back_early_and_then_now_and_then() -> None:
    done: list[int] = []
    times: list[int] = []
    tidy = TidyRun(lambda: times.append(len(done)))
    for batch in range(1, 34):
        done.append(batch)
        tidy.counted()
    assert times == [4, 8, 16, 24, 32]


def test_kernels_work_and_are_compiled_after_memory_was_given_back() -> None:
    numba = pytest.importorskip("numba")
    twice = numba.njit(lambda values: 2 * values.sum())
    assert twice(np.arange(4)) == 12
    tidy = TidyRun()
    for _ in range(4):
        tidy.counted()
    assert twice(np.arange(4)) == 12
    assert twice(np.ones(3)) == 6.0  # another kernel
