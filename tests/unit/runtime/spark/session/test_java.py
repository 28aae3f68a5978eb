"""Which Java Spark gets."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.spark.session import java
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path


def make_java(home: Path, version: str) -> Path:
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    program.chmod(0o755)
    return home


@pytest.mark.parametrize("version", ["17.0.15", "21", "25.0.2"])
def test_a_system_java_from_17_on_is_used_as_it_is(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "home", version)))
    assert java.java_home(tmp_path) is None


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_an_older_java_is_refused_with_a_sentence(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(make_java(tmp_path / "home", version)))
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    with pytest.raises(RunError, match=r"Spark needs Java 17 or later and .* is Java (11|8)"):
        java.java_home(tmp_path)


def test_no_java_is_a_sentence_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(java, "_packaged_java", lambda: None)
    with pytest.raises(RunError, match="there is none"):
        java.java_home(tmp_path)


def test_the_packaged_java_is_started_without_the_module_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged = tmp_path / "packaged"
    packaged.write_text('#!/bin/sh\nfor each do echo "<$each>"; done\n')
    packaged.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setattr(java, "_packaged_java", lambda: packaged)
    home = java.java_home(tmp_path)
    given = ["-a b", "--add-modules=jdk.incubator.vector", "c"]
    said = subprocess.run(
        [f"{home}/bin/java", *given], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert said.stdout.splitlines() == ["<-a b>", "<c>"]
