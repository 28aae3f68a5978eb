"""The archive of Spark's classes is used when it is there, and when the JVM can be told of its place."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pyspark
import pytest

from cqc.runtime.spark.session.archive_path import archive_options, archive_path

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("folder", "is_used"), [("plain", True), ("with space", False)])
def test_the_jvm_is_told_of_an_archive_that_is_there(
    folder: str, is_used: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / folder))
    path = archive_path()
    assert pyspark.__version__ in path.name
    assert archive_options() == ""
    path.parent.mkdir(parents=True)
    path.touch()
    assert archive_options() == (f"-XX:SharedArchiveFile={path}" if is_used else "")
