"""Every kind of sink writes a file, a folder and standard output, alike with a checkpoint and without.

Whoever adds a kind of sink finds here which place was forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.runtime.options import SINKS
from tests.support.documents import call

if TYPE_CHECKING:
    from pathlib import Path

WRITING = [kind for kind in SINKS if kind != "none"]
PROGRAM = "CREATE STREAM s (ts BIGINT, x BIGINT);\nCREATE QUERY low AS SELECT x FROM s;\nCREATE QUERY high AS SELECT x + 1 AS y FROM s;\n"


def run(tmp_path: Path, kind: str, *options: str) -> tuple[str, str]:
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s.csv").write_text("ts,x\n1,123450\n2,\n")
    bind = f"s={tmp_path / 's.csv'}"
    command = ["run", str(tmp_path / "p.cq"), "--bind", bind, "--engine", "local", "--quiet"]
    return call([*command, "--sink", kind, *options])


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("kind", WRITING)
def test_a_folder_has_a_file_for_each_query(kind: str, durable: bool, tmp_path: Path) -> None:
    options = ["--checkpoint", str(tmp_path / "state")] if durable else []
    assert run(tmp_path, kind, "--out", f"{tmp_path}/out/", *options) == ("", "")
    endings = {path.suffix.lstrip(".") for path in (tmp_path / "out").rglob("*") if path.is_file()}
    names = {path.name.partition(".")[0] for path in (tmp_path / "out").iterdir()}
    assert endings == {SINKS[kind]}
    assert names == {"low", "high"}


@pytest.mark.parametrize("kind", [kind for kind in WRITING if kind != "parquet"])
def test_a_file_with_a_checkpoint_is_the_file_without(kind: str, tmp_path: Path) -> None:
    plain, durable = tmp_path / f"plain.{SINKS[kind]}", tmp_path / f"durable.{SINKS[kind]}"
    assert run(tmp_path, kind, "--out", str(plain)) == ("", "")
    again = ["--out", str(durable), "--checkpoint", str(tmp_path / "state")]
    assert run(tmp_path, kind, *again) == ("", "")
    assert durable.read_bytes() == plain.read_bytes()
    assert b"123451" in plain.read_bytes()
    assert run(tmp_path, kind, *again) == ("", "")
    assert durable.read_bytes() == plain.read_bytes()


@pytest.mark.parametrize("kind", [kind for kind in WRITING if kind != "parquet"])
def test_standard_output_gets_what_a_file_gets(kind: str, tmp_path: Path) -> None:
    plain = tmp_path / f"plain.{SINKS[kind]}"
    run(tmp_path, kind, "--out", str(plain))
    assert run(tmp_path, kind) == (plain.read_text(), "")
