"""The rate source, which counts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.sources.range import Range
from cqc.runtime.sources.rate import RateFeed, read_rate
from tests.support.relations import relation

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


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "many", "", "\u00b2", "\u0663"])
def test_a_rate_that_is_no_whole_number_is_one_sentence(text: str) -> None:
    declared = relation({"ts": T.BIGINT}, options={"format": "rate", "rows_per_second": text})
    with pytest.raises(RunError, match="rows_per_second of s must be a whole number above 0"):
        RateFeed("s", declared, done={})


def test_a_range_is_read_again_as_it_was() -> None:
    declared = relation({"ts": T.DOUBLE, "n": T.BIGINT}, options={"rows_per_second": "2"})
    (batch,) = read_rate(declared, Range("s", "rate@0", "rate", 3, 6))
    assert [to_python(column) for column in batch.columns] == [[1.5, 2.0, 2.5], [3, 4, 5]]
