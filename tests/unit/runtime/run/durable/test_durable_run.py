"""Runs that are cut off at any point and started again give the results of an undisturbed one."""

from __future__ import annotations

import errno
import json
import os
import resource
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import read_sealed_json
from cqc.runtime.options import RunOptions
from cqc.runtime.run.durable import checkpoint, position_book
from cqc.runtime.run.durable.checkpoint import Checkpoint
from cqc.runtime.run.durable.durable_run import DurableRun

DECLARED = """
CREATE STREAM a (ts BIGINT, k BIGINT, x DOUBLE, name STRING, WATERMARK FOR ts AS ts - 2);
CREATE STREAM b (ts BIGINT, k BIGINT, y DOUBLE, WATERMARK FOR ts AS ts - 2);
CREATE TABLE t (k BIGINT, label STRING);
"""
QUERIES = """
CREATE QUERY plain AS SELECT x, name FROM a WHERE x > 2;
CREATE QUERY joined AS SELECT a.x, b.y, a.name FROM a, b WHERE a.k = b.k MAXWINDOW 3 SEC;
CREATE QUERY labelled AS SELECT t.label, b.y FROM b, t WHERE b.k = t.k;
CREATE QUERY rows AS SELECT a.x, b.y FROM a [ROWS 2], b [ROWS 1];
CREATE QUERY counted AS SELECT k, COUNT(*) AS n, SUM(x) AS total FROM a BEGIN NOW - 5 END NOW EVERY 2 SEC GROUP BY k;
CREATE QUERY closing AS SELECT COUNT(*) AS n, MAX(y) AS most FROM b BEGIN NOW - 4 END NOW;
"""


class CrashError(Exception):
    pass


@pytest.fixture
def options(tmp_path: Path) -> RunOptions:
    a = [
        f"{ts},{ts % 3},{ts % 5 if ts % 7 else ''},n{ts}"
        for ts in (1, 2, 4, 3, 5, 7, 6, 8, 9, 11, 10)
    ]
    b = [f"{ts},{ts % 3},{ts * 0.5}" for ts in (2, 1, 3, 5, 4, 6, 9, 8, 10)]
    (tmp_path / "a.csv").write_text("ts,k,x,name\n" + "\n".join([*a, "12,0,bad,n"]) + "\n")
    (tmp_path / "b.csv").write_text("ts,k,y\n" + "\n".join(b) + "\n")
    (tmp_path / "t.csv").write_text("k,label\n0,zero\n1,one\n")
    return RunOptions(
        binds={name: str(tmp_path / f"{name}.csv") for name in "abt"},
        out=str(tmp_path / "out.jsonl"),
        rejects=str(tmp_path / "rejects.jsonl"),
        rows_per_batch=2,
        checkpoint=str(tmp_path / "checkpoint"),
    )


def results(options: RunOptions) -> list[str]:
    assert options.out is not None
    return sorted(Path(options.out).read_text().splitlines())


def undisturbed(
    program: cqc.Program, options: RunOptions, tmp_path: Path
) -> tuple[list[str], object]:
    whole = replace(
        options,
        checkpoint=str(tmp_path / "whole"),
        out=str(tmp_path / "w"),
        rejects=str(tmp_path / "wr"),
    )
    run = DurableRun(program, whole)
    run.to_end()
    return results(whole), run.close().queries


@pytest.mark.parametrize("where", ["before the commit", "while tuples are written", "after it"])
@pytest.mark.parametrize("every", [1, 4])
def test_a_run_that_crashes_again_and_again_loses_and_repeats_nothing(
    where: str, every: int, options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    expected, counts = undisturbed(program, options, tmp_path)
    commit, write_tuples = Checkpoint.commit, Checkpoint._write_tuples
    left = [every]

    def crash(at: str) -> None:
        if at == where:
            left[0] -= 1
            if left[0] == 0:
                raise CrashError

    def commit_or_crash(self: Checkpoint, *given: object) -> None:
        crash("before the commit")
        commit(self, *given)  # type: ignore[arg-type]  # as they came
        crash("after it")

    def write_or_crash(self: Checkpoint, *given: object) -> object:
        written = write_tuples(self, *given)  # type: ignore[arg-type]  # as they came
        crash("while tuples are written")
        return written

    monkeypatch.setattr(Checkpoint, "commit", commit_or_crash)
    monkeypatch.setattr(Checkpoint, "_write_tuples", write_or_crash)
    crashes = 0
    while True:
        # A crash at every first commit would never let the run come any further.
        left[0] = every if where == "after it" or every > 1 else 1 + crashes % 2
        run = DurableRun(program, options)
        try:
            run.to_end()
        except CrashError:
            crashes += 1
            run.close()
            continue
        break
    summary = run.close()
    assert crashes > 1
    assert results(options) == expected
    assert summary.queries == counts
    assert Path(options.rejects or "").read_text() == (tmp_path / "wr").read_text()


def test_a_run_that_ended_gives_nothing_more(options: RunOptions) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    for _ in range(2):
        run = DurableRun(program, options)
        run.to_end()
        run.close()
    once = results(options)
    run = DurableRun(program, options)
    run.to_end()
    assert run.close().queries["plain"] == sum('"plain"' in line for line in once)
    assert results(options) == once


def test_a_query_that_is_new_sees_what_comes_after(options: RunOptions, tmp_path: Path) -> None:
    run = DurableRun(cqc.compile(DECLARED + "CREATE QUERY one AS SELECT ts FROM a"), options)
    run.read_tables()
    run.process(run.next_ranges())
    run.close()
    both = cqc.compile(
        DECLARED + "CREATE QUERY one AS SELECT ts FROM a; CREATE QUERY two AS SELECT ts FROM a"
    )
    again = DurableRun(both, options)
    again.to_end()
    again.close()
    found = [json.loads(line) for line in results(options)]
    assert sum(row["query"] == "one" for row in found) == 11
    assert sum(row["query"] == "two" for row in found) == 9


def test_another_program_is_told_apart(options: RunOptions) -> None:
    run = DurableRun(cqc.compile(DECLARED + "SELECT ts FROM a"), options)
    run.to_end()
    run.close()
    with pytest.raises(RunError, match="another program"):
        DurableRun(cqc.compile(DECLARED + "SELECT y FROM b"), options)
    other = "CREATE STREAM a (ts BIGINT, z STRING); CREATE STREAM b (ts BIGINT); SELECT ts FROM a"
    with pytest.raises(RunError, match="other columns"):
        DurableRun(cqc.compile(other), options)


def start_and_close(program: cqc.Program, options: RunOptions) -> None:
    run = DurableRun(program, options)
    try:
        run.read_tables()
    finally:
        run.close()


@pytest.mark.parametrize("damage", ["commits", "tuples"])
def test_a_damaged_checkpoint_is_one_sentence(
    damage: str, options: RunOptions, tmp_path: Path
) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    run = DurableRun(program, options)
    run.to_end()
    run.close()
    for file in (tmp_path / "checkpoint" / damage).iterdir():
        file.write_bytes(b"x")
    with pytest.raises(RunError, match=rf"checkpoint/{damage}/0.* is damaged .*: restore it "):
        start_and_close(program, options)


@pytest.mark.parametrize("sink", ["csv", "parquet", "table"])
def test_other_formats_are_cut_back_too(sink: str, options: RunOptions, tmp_path: Path) -> None:
    program = cqc.compile(DECLARED + "SELECT x, name FROM a")
    out = tmp_path / f"out.{sink}"
    options = replace(options, sink=sink, out=str(out))
    run = DurableRun(program, options)
    run.read_tables()
    run.process(run.next_ranges())
    run.close()
    again = DurableRun(program, options)
    again.to_end()
    again.close()
    if sink == "parquet":
        import pyarrow.parquet as pq

        assert pq.read_table(out).num_rows == 11
    elif sink == "csv":
        lines = out.read_text().splitlines()
        assert lines[0].startswith("query,")
        assert len(lines) == 12
    else:
        tables = out.read_text().split("\n\n")  # one for each micro-batch, each with its title
        titles = [table.partition("\n")[0] for table in tables]
        assert titles == ["q1 (2 results)"] * 5 + ["q1 (1 result)"]


@pytest.mark.parametrize(("sink", "ending"), [("jsonl", "jsonl"), ("table", "txt")])
def test_a_folder_of_results_is_cut_back_and_goes_on(
    sink: str, ending: str, options: RunOptions, tmp_path: Path
) -> None:
    program = cqc.compile(
        DECLARED
        + "CREATE QUERY p AS SELECT x FROM a; CREATE QUERY none AS SELECT x FROM a WHERE x > 9"
    )
    out = tmp_path / "folder"
    out.mkdir()
    (out / f"none.{ending}").write_text("what an earlier run left")
    options = replace(options, sink=sink, out=f"{out}/")
    run = DurableRun(program, options)
    run.read_tables()
    run.process(run.next_ranges())
    run.close()
    with (out / f"p.{ending}").open("a") as file:
        file.write("a micro-batch that does not count")
    again = DurableRun(program, options)
    again.to_end()
    again.close()
    assert sorted(file.name for file in out.iterdir()) == [f"none.{ending}", f"p.{ending}"]
    assert (out / f"none.{ending}").read_text() == ""
    text = (out / f"p.{ending}").read_text()
    assert "does not count" not in text
    rows = text.count('"row"') if sink == "jsonl" else len(text.splitlines()) - 4 * 6 + 1
    assert rows == 11


def test_a_folder_may_have_more_files_than_a_process_may_open(
    options: RunOptions, tmp_path: Path
) -> None:
    queries = "".join(f"CREATE QUERY p{number} AS SELECT x FROM a;" for number in range(300))
    program = cqc.compile(DECLARED + queries)
    run = DurableRun(program, replace(options, out=f"{tmp_path}/folder/"))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = len(list(Path("/dev/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened + 50, before[1]))
    try:
        run.to_end()
        run.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert len(list((tmp_path / "folder").iterdir())) == 300


def test_two_runs_cannot_use_one_checkpoint(options: RunOptions) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    run = DurableRun(program, options)
    with pytest.raises(RunError, match="another run uses the checkpoint"):
        DurableRun(program, options)
    run.close()


def test_a_disk_without_room_is_one_sentence_and_loses_nothing(
    options: RunOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    expected, _ = undisturbed(program, options, tmp_path)

    def full(*given: object) -> object:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as context:
        context.setattr(checkpoint, "write_segment", full)
        run = DurableRun(program, options)
        with pytest.raises(
            RunError, match=r"cannot write the checkpoint .*: No space left on device"
        ):
            run.to_end()
        run.close()
    run = DurableRun(program, options)
    run.to_end()
    run.close()
    assert results(options) == expected


def test_a_source_that_has_vanished_is_one_sentence(options: RunOptions, tmp_path: Path) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    DurableRun(program, options).close()
    (tmp_path / "a.csv").unlink()
    with pytest.raises(RunError, match=r"there is no .*a.csv to read a from"):
        DurableRun(program, options)


def test_streams_come_and_go_between_two_starts(options: RunOptions, tmp_path: Path) -> None:
    one = "CREATE STREAM {0} (ts BIGINT, WATERMARK FOR ts AS ts - 2); CREATE QUERY of_{0} AS SELECT ts FROM {0};"
    common = "CREATE STREAM s (ts BIGINT); CREATE QUERY of_s AS SELECT ts FROM s;"
    (tmp_path / "s.csv").write_text("ts\n" + "".join(f"{ts}\n" for ts in range(12)))
    options = replace(options, binds={**options.binds, "s": str(tmp_path / "s.csv")})
    for names in (["a"], ["a", "b"], ["b"]):
        run = DurableRun(cqc.compile(common + "".join(map(one.format, names))), options)
        run.read_tables()
        for _ in range(2):
            run.process(run.next_ranges())
        run.close()
    run = DurableRun(cqc.compile(common + one.format("b")), options)
    run.to_end()
    counts = run.close().queries
    found = [json.loads(line)["query"] for line in results(options)]
    assert {name: found.count(name) for name in set(found)} == counts
    assert counts["of_s"] == 12
    assert counts["of_b"] == 9


def test_a_live_stream_is_there_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "q").mkdir()
    (tmp_path / "s.csv").write_text("ts\n1\n")
    (tmp_path / "r.csv").write_text("ts\n1\n2\n")
    declared = "CREATE STREAM {0} (ts BIGINT) WITH (path = '../{0}.csv'); CREATE QUERY of_{0} AS SELECT ts FROM {0};"
    (tmp_path / "q" / "s.cq").write_text(declared.format("s"))
    options = RunOptions(
        programs=(str(tmp_path / "q"),),
        out=str(tmp_path / "out.jsonl"),
        checkpoint=str(tmp_path / "checkpoint"),
        follow=True,
        rows_per_batch=1,
    )

    def batches(count: int) -> None:
        files = sorted(str(file) for file in (tmp_path / "q").glob("*.cq"))
        run = DurableRun(cqc.compile_files(files), options)
        run.read_tables()
        for number in range(count):
            if number == 1 and count == 2:
                (tmp_path / "q" / "r.cq").write_text(declared.format("r"))
            ranges = run.next_ranges()
            assert ranges
            run.process(ranges)
        run.close()

    batches(2)
    batches(1)
    found = [json.loads(line) for line in results(options)]
    assert [(each["query"], each["ts"]) for each in found] == [
        ("of_r", 1),
        ("of_r", 2),
        ("of_s", 1),
    ]


def test_a_checkpoint_stays_small_however_many_files_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(position_book, "MOST", 5)
    folder = tmp_path / "data"
    folder.mkdir()
    program = cqc.compile("CREATE STREAM s (ts BIGINT); SELECT ts FROM s;")
    options = RunOptions(
        binds={"s": str(folder)},
        out=str(tmp_path / "out.jsonl"),
        checkpoint=str(tmp_path / "checkpoint"),
        rows_per_batch=1,
        follow=True,
    )
    done = 0
    for files in (4, 9, 9, 30, 3):
        for _ in range(files):
            aside = tmp_path / "next"
            aside.write_text(f"ts\n{done}\n")
            aside.replace(folder / f"{done:04d}.csv")
            done += 1
        run = DurableRun(program, options)
        run.read_tables()
        for _ in range(files):
            run.process(run.next_ranges())
        assert run.next_ranges() == []
        run.close()
        newest = max((tmp_path / "checkpoint" / "commits").glob("*.json"))
        assert sum(map(len, read_sealed_json(newest)["positions"].values())) <= 6
        for old in sorted(folder.iterdir())[:10]:
            old.unlink()  # whoever makes the files may remove them
    found = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["ts"] for line in found] == list(range(done))
    bases = sorted((tmp_path / "checkpoint" / "positions").iterdir())
    assert len(bases) <= 3
    assert len(read_sealed_json(bases[-1])["s"]) < 30


def test_input_that_comes_after_the_end_is_no_later_than_it_is(options: RunOptions) -> None:
    program = cqc.compile(DECLARED + QUERIES)
    more = {"a": ["10,1,9,late?", "13,1,9,new", "14,0,9,new"], "b": ["9,1,9", "14,1,9"]}
    first = DurableRun(program, options)
    first.to_end()
    first.close()
    before = Counter(results(options))
    for name, rows in more.items():
        with Path(options.binds[name]).open("a") as file:
            file.writelines(f"{row}\n" for row in rows)
    second = DurableRun(program, options)
    second.to_end()
    counts = second.close()
    assert len(results(options)) == sum(counts.queries.values())
    new = [json.loads(line) for line in (Counter(results(options)) - before).elements()]
    assert [row for row in new if row.get("ts", row.get("at")) <= 11] == []
    # ROWS windows settled everything up to 11 and 10; of the rest nothing is late.
    assert (counts.streams["a"].late, counts.streams["b"].late) == (1, 1)
    without = cqc.compile(DECLARED + QUERIES.replace("CREATE QUERY rows", "-- "))
    third = replace(options, checkpoint=f"{options.checkpoint}-", out=f"{options.out}-")
    for _ in range(2):
        run = DurableRun(without, third)
        run.to_end()
        counts = run.close()
        for name in more:
            with Path(options.binds[name]).open("a") as file:
                file.write("15,1,1,n\n" if name == "a" else "14,1,1\n")
    assert (counts.streams["a"].late, counts.streams["b"].late) == (0, 0)
    assert len(results(third)) == sum(counts.queries.values())
