"""A finite run reads its files to the end, writes its results and says what it did."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun, source_path

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = (
    "CREATE STREAM S (ts BIGINT, x BIGINT); CREATE TABLE t (x BIGINT);"
    "CREATE QUERY q AS SELECT S.x FROM S, t WHERE S.x = t.x;"
    "CREATE QUERY n AS SELECT COUNT(*) AS n FROM S BEGIN 0 END NOW;"
)


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n2,x\n3,3\n")
    (tmp_path / "t.csv").write_text("x\n3\n")
    return RunOptions(
        binds={"s": str(tmp_path / "s.csv"), "T": str(tmp_path / "t.csv")},
        out=str(tmp_path / "out.jsonl"),
        stats=str(tmp_path / "stats.json"),
    )


def test_tables_come_first_and_pull_queries_last(options: RunOptions, tmp_path: Path) -> None:
    run = LocalRun(cqc.compile(PROGRAM), options)
    seen: list[int] = []
    run.to_end(seen.append)
    summary = run.close()
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(line["query"], line["row"]) for line in lines] == [("q", {"x": 3}), ("n", {"n": 2})]
    assert summary.queries == {"q": 1, "n": 1}
    assert (summary.streams["S"].read, summary.streams["S"].rejected) == (3, 1)
    assert seen == [4]
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["queries"] == {"q": {"results": 1}, "n": {"results": 1}}


def test_a_stream_without_data_is_refused_before_anything_is_opened(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with pytest.raises(RunError, match="stream S has no data"):
        LocalRun(cqc.compile(PROGRAM), RunOptions(out=str(out)))
    assert not out.exists()


def test_a_bound_path_comes_before_the_declared_one() -> None:
    text = "CREATE STREAM s (ts BIGINT) WITH (path = 'here.csv');"
    relation = cqc.compile(text).catalog.relations["s"]
    assert source_path(relation, {}).name == "here.csv"
    assert source_path(relation, {"S": "there.csv"}).name == "there.csv"


def test_what_is_called_like_data_and_is_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.csv").write_text("ts\n1\n")
    (tmp_path / "s" / "b.csv").mkdir()
    program = cqc.compile("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s;")
    options = RunOptions(binds={"s": str(tmp_path / "s")}, sink="none")
    run = LocalRun(program, options)
    run.to_end()
    (told,) = run.close().warnings
    assert f"s: {tmp_path / 's' / 'b.csv'} is no file" in told
