"""`cqc run --engine local`: results, options and what happens to what is wrong."""

import csv
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.unit.cli.conftest import BAD_ROWS, S_ROWS, Call, Finished

BIG = [
    {"query": "big", "ts": "2024-01-01T00:00:02Z", "row": {"x": 2, "y": "NaN"}},
    {"query": "big", "ts": "2024-01-01T00:00:03.500000Z", "row": {"x": 3, "y": None}},
]


@pytest.fixture
def run(call: Call, place: Path) -> Call:
    def run_locally(*arguments: str | Path, program: str = "p.cq", stdin: str = "") -> Finished:
        return call("run", program, "--engine", "local", *arguments, stdin=stdin)

    return run_locally


def results(finished: Finished) -> list[dict[str, Any]]:
    assert finished.code == 0, finished.err
    return [json.loads(line) for line in finished.lines]


def test_results_are_json_lines_and_nothing_else(run: Call) -> None:
    assert results(run("--only", "big")) == BIG


def test_pull_queries_are_invoked_once_at_the_end(run: Call) -> None:
    assert results(run("--only", "total", "--only", "numbers")) == [
        {"query": "numbers", "at": 2, "row": {"sum": 3}},
        {"query": "total", "at": "2024-01-01T00:00:03.500000Z", "row": {"c": 3, "sum": 6}},
    ]


@pytest.mark.parametrize(
    ("instant", "at", "count"),
    [
        ("2024-01-01T00:00:02Z", "2024-01-01T00:00:02Z", 2),
        ("2024-01-01 00:00:01.5", "2024-01-01T00:00:01.500000Z", 1),
        ("2024-01-01T01:00:02+01:00", "2024-01-01T00:00:02Z", 2),
        ("2024-01-01", "2024-01-01T00:00:00Z", 0),
        ("timestamp '2024-01-01 00:00:02'", "2024-01-01T00:00:02Z", 2),
    ],
)
def test_at_is_the_closing_instant(run: Call, instant: str, at: str, count: int) -> None:
    (result,) = results(run("--only", "total", "--at", instant))
    assert (result["at"], result["row"]["c"]) == (at, count)


@pytest.mark.parametrize(("instant", "at"), [("1", 1), ("1.5", 1.5)])
def test_at_is_a_number_for_numeric_event_time(run: Call, instant: str, at: float) -> None:
    (result,) = results(run("--only", "numbers", "--at", instant))
    assert result == {"query": "numbers", "at": at, "row": {"sum": 1}}


def test_the_program_may_come_from_standard_input(run: Call, place: Path) -> None:
    text = (place / "p.cq").read_text()
    assert results(run("--only", "big", program="-", stdin=text)) == BIG


def test_a_bind_takes_the_place_of_the_with_clause(run: Call, place: Path) -> None:
    folder = place / "folder"
    folder.mkdir()
    (folder / "2.csv").write_text("ts,x,y\n2024-01-01T00:00:09Z,9,9\n")
    (folder / "1.jsonl").write_text('{"TS": "2024-01-01T00:00:08Z", "x": 8}\n')
    rows = [result["row"] for result in results(run("--only", "big", "--bind", f"S={folder}"))]
    assert rows == [{"x": 8, "y": None}, {"x": 9, "y": 9.0}]


def test_names_of_queries_are_found_in_any_case(run: Call) -> None:
    assert results(run("--only", "BIG")) == BIG


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--only", "nope"), "no such query (there are: big, total, numbers)"),
        (("--bind", "nope=x.csv"), "declares no such stream or table (there are: s, n)"),
        (("--bind", "s"), "--bind wants NAME=PATH"),
        (("--bind", "=x"), "--bind wants NAME=PATH"),
        (("--at", "soon"), "--at wants an instant"),
        (("--at", "nan"), "--at wants an instant"),
        (("--packet", "0"), "--packet wants auto or a number"),
        (("--packet", "many"), "--packet wants auto or a number"),
        (("--rows-per-batch", "0"), "--rows-per-batch"),
        (("--sink", "parquet"), "--sink parquet needs --out"),
        (("--engine", "nope"), "--engine"),
        (("--join", "nope"), "--join"),
    ],
)
def test_wrong_options_are_wrong_usage(run: Call, options: tuple[str, ...], message: str) -> None:
    finished = run(*options)
    assert finished.code == 2
    assert message in finished.err


def test_a_program_with_errors_is_one(run: Call) -> None:
    finished = run(program="-", stdin="SELECT x FROM nowhere")
    assert finished.code == 1
    assert "error[CQ" in finished.err


@pytest.mark.parametrize("text", ["", "-- nothing", "CREATE STREAM s (ts BIGINT);"])
def test_nothing_to_run_is_one(run: Call, text: str) -> None:
    finished = run(program="-", stdin=text)
    assert finished.code == 1
    assert finished.err == "error: nothing to run: the program has no query\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--bind", "s=missing.csv"), "missing.csv"),
        (("--bind", "s=n.csv"), "no column y for s"),
        (("--out", "p.cq/x.jsonl"), "cannot write p.cq/x.jsonl: Not a directory"),
        (("--out", "nowhere/x.jsonl"), "cannot write nowhere/x.jsonl: No such file or directory"),
        (("--late", "nowhere/x.jsonl"), "cannot write nowhere/x.jsonl"),
        (("--rejects", "nowhere/x.jsonl"), "cannot write nowhere/x.jsonl"),
        (("--stats", "nowhere/x.json"), "cannot write nowhere/x.json"),
        (("--out", "/dev/full"), "cannot write /dev/full: No space left on device"),
        (("--sink", "csv", "--out", "/dev/full"), "cannot write /dev/full: No space left"),
        (("--sink", "table", "--out", "/dev/full"), "cannot write /dev/full: No space left"),
        (("--stats", "/dev/full"), "cannot write /dev/full: No space left"),
    ],
)
def test_a_run_that_fails_says_why_in_one_sentence(
    run: Call, options: tuple[str, ...], message: str
) -> None:
    finished = run(*options)
    assert finished.code == 3
    assert finished.err.startswith("error: ")
    assert finished.err.count("\n") == 1
    assert message in finished.err


def test_a_stream_without_data_is_named(run: Call) -> None:
    text = "CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s;"
    finished = run(program="-", stdin=text)
    assert finished.code == 3
    assert "--bind s=PATH" in finished.err


def test_bad_rows_are_counted_by_reason_and_kept(run: Call, place: Path) -> None:
    (place / "s.csv").write_text(S_ROWS + BAD_ROWS)
    finished = run("--only", "big", "--rejects", "bad.jsonl")
    assert results(finished) == BIG
    assert "s: 6 read, 0 late, 3 rejected\n" in finished.err
    assert "  1 rejected: x is not a BIGINT\n" in finished.err
    rejects = [json.loads(line) for line in (place / "bad.jsonl").read_text().splitlines()]
    assert [list(reject) for reject in rejects] == [["stream", "reason", "row"]] * 3
    assert {"ts": "2024-01-01T00:00:04Z", "x": "oops", "y": "1"} in [
        reject["row"] for reject in rejects
    ]


def test_strict_makes_a_bad_row_fatal(run: Call, place: Path) -> None:
    (place / "s.csv").write_text(S_ROWS + BAD_ROWS)
    finished = run("--strict", "--rejects", "bad.jsonl")
    assert finished.code == 3
    assert "a row of s was rejected (--strict)" in finished.err
    assert (place / "bad.jsonl").read_text() != ""


def test_late_tuples_are_counted_and_written(run: Call, place: Path) -> None:
    late = "2024-01-01T00:00:20Z,20,\n2024-01-01T00:00:05Z,5,\n"
    (place / "s.csv").write_text("ts,x,y\n" + late)
    finished = run("--only", "big", "--rows-per-batch", "1", "--late", "late.jsonl")
    assert [result["row"]["x"] for result in results(finished)] == [20]
    assert "s: 2 read, 1 late, 0 rejected\n" in finished.err
    assert [json.loads(line) for line in (place / "late.jsonl").read_text().splitlines()] == [
        {
            "stream": "s",
            "reason": "late",
            "row": {"ts": "2024-01-01T00:00:05Z", "x": 5, "y": None},
        }
    ]


def test_stats_hold_the_counters(run: Call, place: Path) -> None:
    (place / "s.csv").write_text(S_ROWS + BAD_ROWS)
    run("--stats", "stats.json")
    stats = json.loads((place / "stats.json").read_text())
    assert stats["streams"]["s"] == {
        "read": 6,
        "late": 0,
        "rejected": 3,
        "reasons": {"too few fields": 1, "x is not a BIGINT": 1, "ts is NULL": 1},
    }
    assert stats["queries"] == {
        "big": {"results": 2},
        "total": {"results": 1},
        "numbers": {"results": 1},
    }
    assert {"name", "in", "out", "seconds", "bytes"} <= stats["operators"][0].keys()
    assert stats["seconds"] > 0


def test_the_summary_says_what_was_read_and_found(run: Call) -> None:
    lines = run("--only", "big").err.splitlines()
    assert lines[:2] == ["s: 3 read, 0 late, 0 rejected", "big: 2 results"]
    assert lines[2].startswith("3 tuples in ")
    assert lines[2].endswith(" tuples/s")


def test_the_summary_says_which_counts_are_of_earlier_starts(run: Call, place: Path) -> None:
    (place / "rows").mkdir()
    given = ["--only", "big", "--bind", "s=rows", "--checkpoint", "state", "--out", "out.jsonl"]
    header, *rows = S_ROWS.splitlines(keepends=True)
    for number, row in enumerate(rows):
        (place / "rows" / f"{number}.csv").write_text(header + row)
        lines = run(*given, "--stats", "stats.json").err.splitlines()
        assert lines[0] == f"s: {number + 1} read, 0 late, 0 rejected"
        assert lines[2].startswith("1 tuple in ")
        told = f"all other counts are since the first start: {number + 1} tuples"
        assert lines[3:] == ([told] if number else [])
        stats = json.loads((place / "stats.json").read_text())
        assert stats.get("read_before", 0) == number


def test_counts_of_sinks_are_since_the_first_start_too(run: Call, place: Path) -> None:
    (place / "rows").mkdir()
    (place / "sinks.cq").write_text(
        "CREATE STREAM s (ts TIMESTAMP, x BIGINT, WATERMARK FOR ts AS ts) WITH (path = 'rows', format = 'csv');\n"
        "CREATE SINK f WITH (type = 'file', path = 'found.jsonl');\n"
        "CREATE QUERY q INTO f AS SELECT x FROM s;\n"
    )
    for number in range(3):
        row = f"2024-01-01 00:00:0{number},{number}\n"
        (place / "rows" / f"{number}.csv").write_text("ts,x\n" + row)
        lines = run("--checkpoint", "state", program="sinks.cq").err.splitlines()
        assert f"sink f: {number + 1} sent" in lines


def test_quiet_says_nothing(run: Call) -> None:
    assert run("--quiet").err == ""


def test_progress_without_a_terminal_is_plain_lines(run: Call) -> None:
    finished = run("--progress", "--only", "big", "--rows-per-batch", "1")
    assert "1 row, " in finished.err.splitlines()[0]
    assert "\x1b" not in finished.err


def test_a_dash_is_standard_output(run: Call) -> None:
    assert results(run("--only", "big", "--out", "-")) == BIG


def test_csv_sink(run: Call, place: Path) -> None:
    assert run("--only", "big", "--sink", "csv").lines[:2] == [
        "query,ts,x,y",
        "big,2024-01-01T00:00:02Z,2,NaN",
    ]
    assert run("--sink", "csv", "--out", "folder").code == 0
    with (place / "folder" / "big.csv").open(newline="") as file:
        assert list(csv.reader(file))[1] == ["2024-01-01T00:00:02Z", "2", "NaN"]


@pytest.mark.parametrize("checkpoint", [False, True], ids=["plain", "checkpoint"])
@pytest.mark.parametrize(
    ("sink", "ending"),
    [("jsonl", "jsonl"), ("csv", "csv"), ("table", "txt"), ("parquet", "parquet")],
)
def test_a_folder_gets_a_file_for_each_query(
    run: Call, place: Path, sink: str, ending: str, checkpoint: bool
) -> None:
    kept = ("--checkpoint", place / "state") if checkpoint else ()
    finished = run(
        *("--sink", sink, "--out", f"{place}/new/folder/", *kept),
        program="-",
        stdin=f"CREATE STREAM s (ts TIMESTAMP, x BIGINT, y DOUBLE) WITH (path = '{place}/s.csv');"
        'CREATE QUERY "a/b" AS SELECT x FROM s; CREATE QUERY two AS SELECT x FROM s WHERE x > 1;',
    )
    assert (finished.code, finished.out) == (0, ""), finished.err
    names = {path.name.partition(".")[0] for path in (place / "new" / "folder").iterdir()}
    assert names == {"a%2Fb", "two"}
    assert all(path.name.endswith(ending) for path in (place / "new" / "folder").iterdir())


def test_parquet_sink(run: Call, place: Path) -> None:
    assert run("--only", "big", "--sink", "parquet", "--out", "all.parquet").code == 0
    assert pq.read_table(place / "all.parquet").column("x").to_pylist() == [2, 3]
    assert run("--sink", "parquet", "--out", "folder").code == 0
    assert pq.read_table(place / "folder" / "big.parquet").num_rows == 2


def test_parquet_does_not_take_the_place_of_a_pipe(run: Call, place: Path) -> None:
    os.mkfifo(place / "pipe")
    finished = run("--sink", "parquet", "--out", "pipe")
    assert finished.code == 3
    assert (place / "pipe").is_fifo()


def test_table_sink(run: Call) -> None:
    assert run("--only", "big", "--sink", "table").lines == [
        "big (2 results)",
        "ts                           x     y",
        "---------------------------  -  ----",
        "2024-01-01T00:00:02Z         2   NaN",
        "2024-01-01T00:00:03.500000Z  3  NULL",
    ]


def test_a_table_on_a_terminal_shows_the_first_rows(
    run: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr("cqc.runtime.sinks.ROWS_ON_TERMINAL", 1)
    finished = run("--only", "big", "--sink", "table")
    assert finished.lines[-2:] == ["2024-01-01T00:00:02Z  2  NaN", "... 1 more"]
    assert finished.err.startswith("\ns: 3 read")


def test_sink_none_only_counts(run: Call) -> None:
    finished = run("--only", "big", "--sink", "none")
    assert finished.out == ""
    assert "big: 2 results\n" in finished.err


@pytest.mark.parametrize(
    "switch",
    [
        *(("--join", shape) for shape in ("flat", "left-deep", "bushy")),
        *(("--feedback", kind) for kind in ("on", "off", "exact", "bloom", "demand")),
        *(("--routing", kind) for kind in ("lottery", "fixed", "random")),
        ("--order", "AJW"),
        ("--order", "wja"),
        ("--packet", "1"),
        ("--packet", "auto"),
        ("--sharing", "off"),
        ("--maintenance", "lazy"),
        ("--rows-per-batch", "2"),
        ("--distribute",),
        ("--master", "local[1]"),
    ],
)
def test_switches_never_change_an_answer(run: Call, switch: tuple[str, ...]) -> None:
    assert results(run("--only", "big", *switch)) == BIG


def test_a_run_that_fails_does_not_say_that_there_are_no_results(run: Call, place: Path) -> None:
    (place / "s.csv").write_text("ts,x\n2024-01-01T00:00:01Z,1\n")
    failed = run("--only", "big", "--sink", "table")
    assert failed.code == 3
    assert failed.out == ""
    (place / "s.csv").write_text("ts,x,y\n2024-01-01T00:00:01Z,1,1\n")
    assert run("--only", "big", "--sink", "table").out == "(no results)\n"


TRAFFIC = Path(__file__).parents[3] / "examples" / "queries" / "traffic.cq"


def test_maintenance_never_changes_an_answer(call: Call) -> None:
    answers = [
        call("run", TRAFFIC, "--engine", "local", "--maintenance", kind).lines
        for kind in ("auto", "eager", "lazy")
    ]
    assert len(answers[0]) > 50
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(("kind", "eager", "lazy"), [("eager", 3, 0), ("lazy", 0, 3)])
def test_analyze_shows_how_kept_results_are_maintained(
    call: Call, kind: str, eager: int, lazy: int
) -> None:
    out = call("explain", TRAFFIC, "--analyze", "--maintenance", kind).out
    (line,) = [line for line in out.splitlines() if line.startswith("kept results")]
    at = out.splitlines().index(line)
    assert line.split() == [
        "kept",
        "results",
        "bodies",
        "eager",
        "lazy",
        "changes",
        "rows",
        "trees",
    ]
    shown = next(each for each in out.splitlines()[at:] if each.startswith("history(traffic)"))
    assert shown.split()[1:5] == ["3", str(eager), str(lazy), "0"]
