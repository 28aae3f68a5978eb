"""Runs that follow their input, and whose queries change with the files that hold them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime import file_feed
from cqc.runtime.batch_run import BatchRun
from cqc.runtime.options import RunOptions

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
