"""A leap in time that would make a query with EVERY answer for hours about nothing ends the run, and names the row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import RunCqc

PROGRAM = (
    "CREATE STREAM s (ts TIMESTAMP, x BIGINT) WITH (path = 's.csv');"
    "CREATE QUERY e AS SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 SEC END NOW EVERY 1 SEC;"
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "p.cq").write_text(PROGRAM)
    (tmp_path / "s.csv").write_text(
        "ts,x\n2024-01-01T00:00:00Z,1\n2024-01-01T00:00:03Z,2\n2094-01-01T00:00:00Z,3\n"
    )
    return tmp_path


def test_a_row_of_another_century_ends_a_run_with_one_sentence_that_names_it(
    place: Path, run_cqc: RunCqc
) -> None:
    done = run_cqc("run", str(place / "p.cq"), "--engine", "local")
    assert done.returncode == 3
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert (
        "query e would answer 2,209,075,196 instants between 2024-01-01T00:00:03Z and 2094-" in line
    )
    assert 'the row {"ts": "2094-01-01T00:00:00Z", "x": 3} of s' in line
    assert "--max-instants" in line


def test_the_guard_or_a_higher_limit_lets_it_go_on(place: Path, run_cqc: RunCqc) -> None:
    (place / "p.cq").write_text(f"SET MAX_AHEAD = 1 DAY;{PROGRAM}")
    done = run_cqc("run", str(place / "p.cq"), "--engine", "local")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 4
    assert "1 rejected: ts is more than 1 d ahead of s" in done.stderr
    (place / "p.cq").write_text(PROGRAM)
    (place / "s.csv").write_text("ts,x\n2024-01-01T00:00:00Z,1\n2024-01-01T00:10:00Z,2\n")
    few = run_cqc("run", str(place / "p.cq"), "--engine", "local", "--max-instants", "598")
    assert few.returncode == 3
    more = run_cqc("run", str(place / "p.cq"), "--engine", "local", "--max-instants", "599")
    assert (more.returncode, more.stdout.count("\n")) == (0, 601)


def test_many_instants_with_rows_among_them_are_answered(tmp_path: Path) -> None:
    rows = "".join(f"{number * 400},{number}\n" for number in range(20))
    (tmp_path / "s.csv").write_text(f"ts,x\n{rows}")
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, x BIGINT);"
        "CREATE QUERY e AS SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 SEC END NOW EVERY 1 SEC;"
    )
    for most in (399, 398):
        options = RunOptions(binds={"s": str(tmp_path / "s.csv")}, sink="none", max_instants=most)
        run = LocalRun(program, options)
        if most == 399:
            run.to_end()
            assert run.close().queries == {"e": 7601}
        else:
            with pytest.raises(RunError, match=r"399 instants between 0 and 400,.*\"ts\": 400"):
                run.to_end()
            run.abandon()


def test_a_sparse_stream_beside_one_with_rows_is_no_leap(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("ts,x\n0,1\n10000,2\n")
    dense = "".join(f"{ts},1\n" for ts in range(0, 10001, 100))
    (tmp_path / "r.csv").write_text(f"ts,x\n{dense}")
    program = cqc.compile(
        "CREATE STREAM s (ts BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, x BIGINT);"
        "CREATE QUERY e AS SELECT COUNT(*) AS n FROM s, r BEGIN NOW - 1 SEC END NOW EVERY 1 SEC;"
    )
    options = RunOptions(
        binds={name: str(tmp_path / f"{name}.csv") for name in "sr"}, sink="none", max_instants=100
    )
    run = LocalRun(program, options)
    run.to_end()
    assert run.close().queries == {"e": 10001}
