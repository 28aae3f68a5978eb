"""`cqc run` on Spark: the answers of the local engine, row for row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.spark import delivery
from cqc.runtime.spark.run import SparkRun

if TYPE_CHECKING:
    from cqc.runtime.run.finite_run import RunSummary
    from cqc.runtime.spark.session.session import Session

EXAMPLES = Path(__file__).parents[3] / "examples" / "queries"
DECLARED = "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, x BIGINT);"


def lines_of(run: LocalRun | SparkRun, out: Path) -> tuple[list[str], RunSummary]:
    run.to_end(None)
    summary = run.close()
    return sorted(out.read_text(encoding="utf-8").splitlines()), summary


@pytest.mark.parametrize("name", ["icu", "building", "traffic"])
def test_an_example_gives_the_lines_of_the_local_engine(
    name: str, session: Session, tmp_path: Path
) -> None:
    program = cqc.compile_files([str(EXAMPLES / f"{name}.cq")])
    local, expected = lines_of(
        LocalRun(program, RunOptions(out=str(tmp_path / "l.jsonl"))), tmp_path / "l.jsonl"
    )
    found, summary = lines_of(
        SparkRun(program, RunOptions(out=str(tmp_path / "s.jsonl")), session), tmp_path / "s.jsonl"
    )
    assert found == local
    assert summary.queries == expected.queries
    assert summary.streams == expected.streams


def test_files_of_a_stream_wait_while_another_one_is_behind(
    session: Session, tmp_path: Path
) -> None:
    put_settled(tmp_path / "s" / "0.csv", 60, 1)
    put_settled(tmp_path / "r" / "0.csv", 1, 1)
    program = cqc.compile(DECLARED + "SELECT x FROM s; SELECT x FROM r;")
    options = RunOptions(
        binds={name: str(tmp_path / name) for name in "sr"},
        out=str(tmp_path / "out.jsonl"),
        follow=True,
    )
    run = SparkRun(program, options, session)
    seen: list[int] = []

    def more_comes(read: int) -> None:
        seen.append(read)
        if read == 2 and seen.count(2) == 1:
            put_settled(tmp_path / "r" / "1.csv", 2, 50)
            put_settled(tmp_path / "s" / "1.csv", 61, 30)
        if read == 82:
            raise RunError("all of it has come")

    with pytest.raises(RunError, match="all of it"):
        run.to_end(more_comes)
    counts = run.abandon().streams
    assert {name: (each.read, each.late) for name, each in counts.items()} == {
        "s": (31, 0),
        "r": (51, 0),
    }


def test_rows_far_ahead_wait_for_company_on_spark_too(session: Session, tmp_path: Path) -> None:
    times = [1, 2, 900, 3, *range(500, 517), 4]
    lines = "".join(f"{ts},{at}\n" for at, ts in enumerate(times))
    (tmp_path / "s.csv").write_text(f"ts,x\n{lines}", encoding="utf-8")
    program = cqc.compile(DECLARED + "SET MAX_AHEAD = 100 SEC; SELECT x FROM s;")
    found = []
    for make in (LocalRun, lambda *given: SparkRun(*given, session)):
        options = RunOptions(
            binds={"s": str(tmp_path / "s.csv")}, out=str(tmp_path / "out.jsonl"), rows_per_batch=5
        )
        lines_found, summary = lines_of(make(program, options), tmp_path / "out.jsonl")
        found.append((lines_found, summary.streams))
    assert found[0] == found[1]
    count = found[0][1]["s"]
    assert (count.read, count.rejected) == (22, 1)


def test_a_distributed_handle_refuses_what_needs_the_order_of_arrival(session: Session) -> None:
    program = cqc.compile(DECLARED + "SET MAX_AHEAD = 100 SEC; SELECT x FROM s;")
    with pytest.raises(RunError, match="leave out SET MAX_AHEAD, or distribute=True"):
        cqc.spark.start(program, session.spark, {}, distribute=True)


def put_settled(file: Path, first: int, rows: int) -> None:
    """A file that nobody has touched for long appears at once."""
    file.parent.mkdir(exist_ok=True)
    aside = file.with_name(f".{file.name}")
    numbers = range(first, first + rows)
    aside.write_text("ts,x\n" + "".join(f"{ts},{ts}\n" for ts in numbers), encoding="utf-8")
    os.utime(aside, (1_700_000_000, 1_700_000_000))
    aside.replace(file)


def test_micro_batches_of_one_row_give_the_same(session: Session, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n2,2\n4,3\n", encoding="utf-8")
    (tmp_path / "r.jsonl").write_text('{"ts": 1, "x": 2}\n{"ts": 3, "x": 3}\n', encoding="utf-8")
    program = cqc.compile(DECLARED + "SELECT s.x FROM s, r WHERE s.x = r.x MAXWINDOW 1 SEC")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv"), "r": str(tmp_path / "r.jsonl")},
        out=str(tmp_path / "out.jsonl"),
        rows_per_batch=1,
    )
    found, _ = lines_of(SparkRun(program, options, session), tmp_path / "out.jsonl")
    assert found == [
        '{"query": "q1", "ts": 2, "row": {"x": 2}}',
        '{"query": "q1", "ts": 4, "row": {"x": 3}}',
    ]


def test_one_streaming_query_after_another_gives_the_same(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "BATCHES_PER_QUERY", 2)
    (tmp_path / "s.csv").write_text("ts,x\n" + "".join(f"{at},{at}\n" for at in range(7)))
    program = cqc.compile(DECLARED + "SELECT x FROM s")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")}, out=str(tmp_path / "out.jsonl"), rows_per_batch=1
    )
    found, summary = lines_of(SparkRun(program, options, session), tmp_path / "out.jsonl")
    assert found == [f'{{"query": "q1", "ts": {at}, "row": {{"x": {at}}}}}' for at in range(7)]
    assert summary.streams["s"].read == 7


def test_a_row_that_does_not_fit_is_rejected_as_everywhere(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,one\n2,2\n", encoding="utf-8")
    program = cqc.compile(DECLARED + "SELECT x FROM s")
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
    )
    found, summary = lines_of(SparkRun(program, options, session), tmp_path / "out.jsonl")
    assert found == ['{"query": "q1", "ts": 2, "row": {"x": 2}}']
    assert summary.streams["s"].rejected == 1
    assert '"x is not a BIGINT"' in (tmp_path / "rejects.jsonl").read_text(encoding="utf-8")


def test_a_strict_run_ends_with_the_sentence_of_the_engine(
    session: Session, tmp_path: Path
) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,one\n", encoding="utf-8")
    program = cqc.compile(DECLARED + "SELECT x FROM s")
    options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, sink="none", strict=True)
    run = SparkRun(program, options, session)
    with pytest.raises(RunError, match="rejected"):
        run.to_end(None)
    run.close()
