"""`cqc compile` in every form, `cqc explain`, and `--analyze` with what a run measured."""

import json
import re
from pathlib import Path

import pytest

from cqc.cli.analyze import decided, memory, ratio, share
from cqc.runtime.adapt.decision import Decision
from tests.unit.cli.conftest import Call

JOIN = """\
CREATE STREAM a (ts BIGINT, k BIGINT, x BIGINT) WITH (path = 'a.csv');
CREATE STREAM b (ts BIGINT, k BIGINT) WITH (path = 'b.csv');
CREATE QUERY near AS SELECT a.x FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;
CREATE QUERY small AS SELECT x FROM a WHERE x < 2;
"""


@pytest.fixture
def join(place: Path) -> Path:
    (place / "join.cq").write_text(JOIN)
    (place / "a.csv").write_text("ts,k,x\n1,1,1\n2,2,2\n")
    (place / "b.csv").write_text("ts,k\n2,1\n3,3\n")
    return place / "join.cq"


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("explain", "3 queries"),
        ("json", "{"),
        ("dot", "digraph"),
        ("svg", "<svg"),
        ("mermaid", "flowchart"),
        ("sql", "-- big\nSELECT"),
    ],
)
def test_every_form_goes_to_standard_output_or_a_file(
    form: str, begins: str, call: Call, place: Path
) -> None:
    printed = call("compile", "p.cq", "--emit", form)
    assert printed.code == 0
    assert printed.out.startswith(begins)
    assert printed.out.endswith("\n")
    assert call("compile", "p.cq", "--emit", form, "-o", "file").out == ""
    assert (place / "file").read_text() == printed.out


def test_explain_is_the_default_form(call: Call, place: Path) -> None:
    assert call("compile", "p.cq").out == call("compile", "p.cq", "--emit", "explain").out


def test_sql_comes_in_two_dialects(call: Call, place: Path) -> None:
    duckdb = call("compile", "p.cq", "--emit", "sql").out
    spark = call("compile", "p.cq", "--emit", "sql", "--dialect", "spark").out
    assert duckdb != spark


@pytest.mark.parametrize("out", ["p.cq/x", "nowhere/x", "/dev/full"])
def test_a_file_that_cannot_be_written_fails(out: str, call: Call, place: Path) -> None:
    finished = call("compile", "p.cq", "-o", out)
    assert finished.code == 3
    assert finished.err.startswith(f"error: cannot write {out}: ")


def test_a_failed_write_leaves_nothing_behind(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def disk_full(_: int) -> None:
        raise OSError(28, "No space left on device")

    (place / "old.json").write_text("old")
    before = sorted(place.iterdir())
    monkeypatch.setattr("os.fsync", disk_full)
    assert call("compile", "p.cq", "--emit", "json", "-o", "old.json").code == 3
    assert (place / "old.json").read_text() == "old"
    assert sorted(place.iterdir()) == before


def test_explain_shows_the_graph_in_words(call: Call, place: Path) -> None:
    assert call("explain", "p.cq").out == call("compile", "p.cq").out


@pytest.mark.parametrize("code", ["CQ012", "cq012"])
def test_explain_prints_the_page_of_an_error_code(code: str, call: Call) -> None:
    assert call("explain", code).out.startswith("# CQ012")


def test_an_unknown_error_code_is_wrong_usage(call: Call) -> None:
    assert call("explain", "CQ999").code == 2


def test_analyze_shows_counts_beside_the_graph(call: Call, join: Path) -> None:
    finished = call("explain", join, "--analyze")
    assert finished.code == 0, finished.err
    assert "[2 read, 0 late, 0 rejected]" in finished.out
    assert re.search(r"join0: a x b, .*\[4 in, 1 result, [\d,.]+ ms\]", finished.out)
    assert "small (push)  [1 result]" in finished.out


def test_analyze_has_a_line_for_every_operator(call: Call, join: Path) -> None:
    out = call("explain", join, "--analyze").out
    assert re.search(
        r"^operator +tuples in +out +selectivity +time +of all +memory$", out, re.MULTILINE
    )
    assert re.search(r"^join0 +4 +1 +0.25 +[\d,.]+ ms +\d+ % +[\d,]+ k?B$", out, re.MULTILINE)
    assert re.search(r"^filters\(a\) +2 +1 +0.5 +[\d,.]+ ms", out, re.MULTILINE)
    assert re.search(r"^join input +probes +candidates +found +memory$", out, re.MULTILINE)
    assert re.search(r"^join0 b ", out, re.MULTILINE)
    assert re.search(r"^near +1 +50 %$", out, re.MULTILINE)


def test_analyze_numbers_the_inputs_of_a_self_join(call: Call, join: Path) -> None:
    join.write_text(JOIN + "SELECT a1.x FROM a a1, a a2 WHERE a1.k = a2.k MAXWINDOW 5 SEC;")
    table = call("explain", join, "--analyze").out.partition("join input")[2].partition("\n\n")[0]
    assert " a#1 " in table
    assert " a#2 " in table
    assert " b  " in table


def test_analyze_shows_packets_and_metaqueues(call: Call, join: Path) -> None:
    out = call("explain", join, "--analyze", "--packet", "1").out
    (packets,) = (line for line in out.splitlines() if line.startswith("packets of"))
    assert packets.split() == ["packets", "of", "packets", "tuples", "each", "threshold"]
    (header,) = (line for line in out.splitlines() if line.startswith("metaqueue"))
    assert header.split() == ["metaqueue", "trains", "occupancy", "waited", "threshold"]
    queues = [line.split() for line in out.splitlines() if " -> " in line and "%" in line]
    assert queues
    assert all(line[-4] == "1.0" and line[-1] == "1" for line in queues)


def test_analyze_shows_the_shapes_of_trees(call: Call, join: Path) -> None:
    out = call("explain", join, "--analyze", "--join", "(b a)").out
    assert re.search(r"^tree of joins +shape +why$", out, re.MULTILINE)
    assert re.search(r"^join0 +\(b a\) +asked for$", out, re.MULTILINE)
    assert "tree of joins" not in call("explain", join, "--analyze").out


def test_analyze_says_what_was_decided_in_sentences(call: Call, join: Path) -> None:
    join.write_text(
        JOIN
        + "CREATE QUERY chain AS SELECT a1.x FROM a a1, a a2, b WHERE a1.k = a2.k AND a2.k = b.k MAXWINDOW 5 SEC;"
    )
    out = call("explain", join, "--analyze", "--sharing", "off").out
    _, heading, decided = out.partition("\nDecided while it ran\n")
    assert heading
    lines = decided.partition("\n\n")[0].splitlines()
    assert "  join0 lets new tuples of b meet a, then a: each finds 0.5, then 1" in lines
    assert all(line.startswith("  ") for line in lines)


def test_of_many_decisions_about_one_operator_the_first_are_shown() -> None:
    decisions = [Decision("join0", f"does {number}") for number in range(20)] * 2
    lines = decided(decisions).splitlines()
    assert lines[:2] == ["Decided while it ran", "  join0 does 0"]
    assert lines[-1] == "  join0: 8 decisions more"
    assert len(lines) == 1 + 12 + 1
    assert decided([]) == ""


def test_analyze_runs_only_what_it_is_asked_to(call: Call, join: Path) -> None:
    out = call("explain", join, "--analyze", "--only", "small").out
    assert re.search(r"^small +1 +100 %$", out, re.MULTILINE)
    assert "join input" not in out


def test_analyze_of_missing_data_fails(call: Call, join: Path) -> None:
    finished = call("explain", join, "--analyze", "--bind", "a=missing.csv")
    assert finished.code == 3
    assert "missing.csv" in finished.err


def test_analyze_takes_the_options_of_a_run(call: Call, join: Path, place: Path) -> None:
    (place / "join.cq").write_text(
        f"{JOIN}CREATE QUERY total AS SELECT COUNT(*) AS n FROM a BEGIN 0 END NOW;"
    )
    (place / "a.csv").write_text("ts,k,x\n1,1,1\n2,2,2\nx,2,2\n")
    options = ("--engine", "local", "--at", "1", "--rejects", "rejects", "--stats", "stats")
    finished = call("explain", join, "--analyze", *options)
    assert finished.code == 0, finished.err
    assert json.loads(Path("rejects").read_text())["row"]["ts"] == "x"
    assert json.loads(Path("stats").read_text())["queries"]["total"] == {"results": 1}
    strict = call("explain", join, "--analyze", "--strict")
    assert strict.code == 3
    assert "a row of a was rejected" in strict.err


def test_analyze_of_a_program_without_queries(call: Call) -> None:
    assert call("explain", "-", "--analyze", stdin="").code == 1


def test_figures_are_readable() -> None:
    assert [memory(size) for size in (0, 9_999, 10_000, 10_000_000)] == [
        "0 B",
        "9,999 B",
        "10 kB",
        "10 MB",
    ]
    assert (ratio(1, 0), ratio(1, 4), share(1, 0), share(1, 4)) == ("-", "0.25", "-", "25 %")


def test_json_of_the_graph_round_trips(call: Call, join: Path) -> None:
    from cqc.compiler.graph.graph import Graph

    text = call("compile", join, "--emit", "json").out
    assert json.loads(Graph.from_json(text).to_json()) == json.loads(text)


def test_analyze_shows_what_feedback_did_on_each_edge(call: Call, place: Path) -> None:
    (place / "tree.cq").write_text(
        JOIN.replace(
            "CREATE QUERY near AS SELECT a.x FROM a, b WHERE a.k = b.k",
            "CREATE STREAM c (ts BIGINT, x BIGINT) WITH (path = 'c.csv');\n"
            "CREATE QUERY near AS SELECT a.x FROM a, b, c WHERE a.k = b.k AND a.x = c.x",
        )
    )
    (place / "a.csv").write_text("ts,k,x\n1,1,1\n2,2,2\n")
    (place / "b.csv").write_text("ts,k\n2,1\n3,3\n")
    (place / "c.csv").write_text("ts,x\n3,1\n")
    asked = ("explain", "--analyze", "tree.cq", "--join", "left-deep", "--feedback", "exact")
    printed = call(*asked)
    assert printed.code == 0
    assert re.search(r"join0 a for c +2 +1 +1\n", printed.out)
