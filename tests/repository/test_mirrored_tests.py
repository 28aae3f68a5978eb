"""In these rooms every module has a test file of its own name, so that whoever changes a module knows where its idea is tested."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("room", ["runtime/adapt", "runtime/filter", "runtime/metrics"])
def test_every_module_of_the_room_has_a_test_file_of_its_name(room: str) -> None:
    modules = {file.stem for file in (ROOT / room).glob("*.py")} - {"__init__"}
    tests = {
        file.stem.removeprefix("test_") for file in (ROOT / "tests/unit" / room).glob("test_*.py")
    }
    assert modules <= tests
