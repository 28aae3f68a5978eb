"""Runs that follow their input, and whose queries change with the files that hold them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun, with_retention
from cqc.runtime.sources import file_feed
from tests.support.waiting import wait_until, write_whole

if TYPE_CHECKING:
    from pathlib import Path

STREAM = "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (format = 'csv', path = 'data/');"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "queries" / "data").mkdir(parents=True)
    (tmp_path / "queries" / "a.cq").write_text(
        STREAM + "CREATE QUERY all_of_it AS SELECT x FROM s;"
    )
    return tmp_path


def opened(place: Path) -> BatchRun:
    folder = place / "queries"
    program = cqc.compile_files([str(folder / "a.cq")])
    return BatchRun(
        program, RunOptions(programs=(str(folder),), out=str(place / "out.jsonl"), follow=True)
    )


def put(place: Path, name: str, *rows: str) -> Path:
    aside = place / "next"
    aside.write_text("ts,x\n" + "".join(f"{row}\n" for row in rows))
    return aside.replace(place / "queries" / "data" / name)


def step(run: BatchRun) -> None:
    ranges = run.next_ranges()
    if ranges:
        run.process(ranges)


def found(place: Path) -> list[tuple[str, int]]:
    rows = [json.loads(line) for line in (place / "out.jsonl").read_text().splitlines()]
    return [(row["query"], row["row"]["x"]) for row in rows]


def test_a_new_file_is_read_whatever_its_name(place: Path) -> None:
    put(place, "b.csv", "1,1")
    run = opened(place)
    step(run)
    assert run.next_ranges() == []
    put(place, "a.csv", "2,2")
    step(run)
    run.close()
    assert found(place) == [("all_of_it", 1), ("all_of_it", 2)]


def test_lines_added_to_a_file_are_read_when_they_are_whole(place: Path) -> None:
    file = put(place, "b.csv", "1,1")
    run = opened(place)
    step(run)
    with file.open("a") as more:
        more.write("2,2\n3,")
    step(run)
    with file.open("a") as more:
        more.write("3\n")
    step(run)
    run.close()
    assert [x for _, x in found(place)] == [1, 2, 3]


def test_a_last_line_without_an_end_is_read_when_the_file_has_settled(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "queries" / "data" / "b.csv").write_text("ts,x\n1,1\n2,2")
    run = opened(place)
    step(run)
    assert [x for _, x in found(place)] == [1]
    monkeypatch.setattr(file_feed, "SETTLED_S", -1.0)
    step(run)
    run.close()
    assert [x for _, x in found(place)] == [1, 2]


def test_queries_come_change_and_go_with_their_files(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = opened(place)
    put(place, "1.csv", "1,1")
    step(run)
    added = place / "queries" / "b.cq"
    added.write_text("CREATE QUERY big AS SELECT x FROM s WHERE x > 1;")
    put(place, "2.csv", "2,2")
    step(run)
    added.write_text("CREATE QUERY big AS SELECT x FROM s WHERE x > 10;")
    put(place, "3.csv", "3,3")
    step(run)
    added.unlink()
    put(place, "4.csv", "4,40")
    step(run)
    run.close()
    assert found(place) == [
        ("all_of_it", 1),
        ("all_of_it", 2),
        ("big", 2),
        ("all_of_it", 3),
        ("all_of_it", 40),
    ]
    assert "query big removed" in capsys.readouterr().err


def test_a_file_with_errors_is_reported_once_and_changes_nothing(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = opened(place)
    (place / "queries" / "b.cq").write_text("CREATE QUERY broken AS SELECT y FROM s;")
    put(place, "1.csv", "1,1")
    step(run)
    step(run)
    run.close()
    assert found(place) == [("all_of_it", 1)]
    said = capsys.readouterr().err
    assert "b.cq" in said
    assert said.count("the queries that run stay as they were") == 1


def test_a_parquet_file_that_is_not_complete_is_left_alone(place: Path) -> None:
    broken = place / "queries" / "data" / "b.parquet"
    broken.write_bytes(b"PAR1")
    run = opened(place)
    assert run.next_ranges() == []
    broken.unlink()
    run.close()


OTHER = "CREATE STREAM r (ts BIGINT, x BIGINT) WITH (format = 'csv', path = '../other/');"
TABLE = "CREATE TABLE t (x BIGINT, name STRING) WITH (path = '../t.csv');"


def test_a_new_file_brings_its_own_stream_and_table(place: Path) -> None:
    (place / "other").mkdir()
    (place / "other" / "1.csv").write_text("ts,x\n5,7\n")
    (place / "t.csv").write_text("x,name\n7,seven\n")
    put(place, "1.csv", "1,1")
    run = opened(place)
    step(run)
    (place / "queries" / "b.cq").write_text(
        f"{OTHER}{TABLE}CREATE QUERY both AS SELECT s.x FROM s, r, t WHERE s.x = r.x AND t.x = r.x MAXWINDOW 9 SEC;"
    )
    put(place, "2.csv", "6,7")
    for _ in range(3):
        step(run)
    summary = run.close()
    assert sorted(found(place)) == [("all_of_it", 1), ("all_of_it", 7), ("both", 7)]
    assert summary.streams["r"].read == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (OTHER, "there is no .*other to read r from"),
        ("CREATE TABLE t (x BIGINT) WITH (path = 't.csv');", "there is no .*t.csv to read t from"),
        ("CREATE STREAM r (ts BIGINT, x BIGINT);", "r has no data"),
    ],
)
def test_a_new_stream_without_data_is_reported_and_changes_nothing(
    text: str, reason: str, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = opened(place)
    query = "CREATE QUERY more AS SELECT x FROM s;"
    (place / "queries" / "b.cq").write_text(f"{text}{query}")
    put(place, "1.csv", "1,1")
    step(run)
    (place / "queries" / "b.cq").write_text(query)
    put(place, "2.csv", "2,2")
    step(run)
    run.close()
    assert found(place) == [("all_of_it", 1), ("all_of_it", 2), ("more", 2)]
    said = capsys.readouterr().err
    assert re.search(reason, said)
    assert said.count("the queries that run stay as they were") == 1


def test_a_stream_that_nobody_asks_for_yet_is_read_from_where_it_is_bound(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the case of its name; one that has no data at all is reported when it is asked for."""
    (place / "queries" / "a.cq").write_text(
        STREAM
        + "CREATE STREAM Other (ts BIGINT, x BIGINT); CREATE STREAM Nothing (ts BIGINT, x BIGINT);"
        + "CREATE STREAM made (ts BIGINT, x BIGINT) WITH (format = 'rate', rows_per_second = '1000', rows = '1');"
        + "CREATE QUERY all_of_it AS SELECT x FROM s; CREATE QUERY made_up AS SELECT x FROM made;"
    )
    other = place / "other.csv"
    other.write_text("ts,x\n")
    folder = place / "queries"
    run = BatchRun(
        cqc.compile_files([str(folder / "a.cq")]),
        RunOptions(
            programs=(str(folder),),
            binds={"Other": str(other)},
            out=str(place / "out.jsonl"),
            follow=True,
        ),
    )

    def made() -> bool:
        step(run)
        return found(place) == [("made_up", 0)]

    wait_until(made)
    (folder / "b.cq").write_text("CREATE QUERY later AS SELECT x FROM other;")
    other.write_text("ts,x\n1,7\n")
    step(run)
    (folder / "c.cq").write_text("CREATE QUERY never AS SELECT x FROM nothing;")
    step(run)
    run.close()
    assert found(place) == [("made_up", 0), ("later", 7)]
    said = capsys.readouterr().err
    assert "stream Nothing has no data" in said
    assert "never registered" not in said


def test_a_stream_that_runs_cannot_be_declared_in_another_way(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = opened(place)
    (place / "queries" / "a.cq").write_text(
        STREAM.replace("x BIGINT", "x DOUBLE") + "CREATE QUERY other AS SELECT x FROM s;"
    )
    put(place, "1.csv", "1,1")
    step(run)
    run.close()
    assert found(place) == [("all_of_it", 1)]
    assert "s cannot be declared in another way while it runs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("rest", "kept_s"),
    [
        ("SELECT x FROM s;", 3_600),
        ("SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 1 DAY END NOW EVERY 1 DAY;", 86_400),
        ("SELECT x FROM s BEGIN 0 END NOW;", 3_600),
        ("SET RETENTION = 5 SECONDS; SELECT x FROM s BEGIN NOW - 10 END NOW;", 5),
    ],
)
def test_run_without_end_keeps_an_hour_or_what_its_own_windows_need(rest: str, kept_s: int) -> None:
    kept_us = with_retention(cqc.compile(STREAM + rest)).settings.retention_us
    assert kept_us == kept_s * 1_000_000


def test_the_summary_counts_the_results_of_every_query_that_had_the_name(place: Path) -> None:
    run = opened(place)
    put(place, "b.csv", "1,1", "2,2")
    step(run)
    file = place / "queries" / "a.cq"
    write_whole(file, STREAM + "CREATE QUERY all_of_it AS SELECT x FROM s WHERE x > 3;")
    put(place, "c.csv", "3,3", "4,4")
    step(run)
    assert run.close().queries["all_of_it"] == len(found(place)) == 3


def test_tables_of_a_run_that_follows_do_not_wait_for_its_end(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n1,1\n")
    program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s")
    out = tmp_path / "out.txt"
    options = RunOptions(
        binds={"s": str(tmp_path / "s.csv")}, follow=True, sink="table", out=str(out)
    )
    run = BatchRun(program, options)
    run.process(run.next_ranges())
    assert out.read_text() == "q1 (1 result)\nts  x\n--  -\n 1  1\n"
    run.close()
