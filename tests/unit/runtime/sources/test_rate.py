"""The rate source, which counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun

if TYPE_CHECKING:
    from pathlib import Path


def found(out: Path) -> list[int]:
    return sorted(json.loads(line)["row"]["x"] for line in out.read_text().splitlines())


def test_the_rate_source_counts(tmp_path: Path) -> None:
    where = "format = 'rate', rows_per_second = '1000', rows = '5'"
    text = f"CREATE STREAM s (ts TIMESTAMP, x BIGINT, y DOUBLE) WITH ({where}); SELECT x FROM s;"
    run = BatchRun(cqc.compile(text), RunOptions(out=str(tmp_path / "out")))
    run.to_end()
    run.close()
    assert found(tmp_path / "out") == [0, 1, 2, 3, 4]
