"""The archive for a cluster holds this installation and the way to start it."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.run.package import build_package, how_to_use

if TYPE_CHECKING:
    from pathlib import Path


def test_the_archive_has_the_code_and_a_launcher(tmp_path: Path) -> None:
    out = build_package(tmp_path / "cqc.tar.gz", kernels=False)
    with tarfile.open(out) as archive:
        names = set(archive.getnames())
        times = {member.mtime for member in archive.getmembers() if member.name.endswith(".py")}
    assert {"./cqc_main.py", "./cqc/runtime/engine/engine.py", "./cqc/grammar/cq.lark"} <= names
    assert not any("__pycache__" in name for name in names)
    assert all(time == int(time) for time in times)
    assert "cqc.tar.gz#cqc_package" in how_to_use(out)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="cannot write"):
        build_package(tmp_path / "nowhere" / "cqc.tar.gz", kernels=False)
