"""Arrow asks the system for memory in a run, unless the user has chosen something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from cqc.runtime.run.memory_pool import use_system_memory

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
