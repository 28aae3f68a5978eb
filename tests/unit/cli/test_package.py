"""`cqc package` makes an archive that runs from where it is unpacked."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.run.package import build_package, how_to_use

if TYPE_CHECKING:
    from pathlib import Path


def unpacked(tmp_path: Path, *, kernels: bool) -> Path:
    package = build_package(tmp_path / "package.tar.gz", kernels=kernels)
    words = how_to_use(package)
    assert f"--archives {package}#cqc_package \\\n" in words
    folder = tmp_path / "unpacked"
    with tarfile.open(package) as archive:
        archive.extractall(folder, filter="data")
    return folder


def test_the_archive_has_all_of_cqc(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, kernels=False)
    (tmp_path / "p.cq").write_text(
        "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;", encoding="utf-8"
    )
    finished = subprocess.run(
        [sys.executable, str(folder / "cqc_main.py"), "check", str(tmp_path / "p.cq")],
        env={**os.environ, "PYTHONPATH": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert not list(folder.rglob("*.nbc"))


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_archive_has_the_kernels(tmp_path: Path) -> None:
    assert list(unpacked(tmp_path, kernels=True).rglob("*.nbc"))
