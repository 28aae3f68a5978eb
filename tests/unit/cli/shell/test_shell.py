"""`cqc shell`: statements from a pipe in this process, and keys at a pseudo terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.cli.shell.loop import history_file
from tests.support.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from tests.unit.cli.conftest import Call

DECLARED = "CREATE STREAM s (ts TIMESTAMP, x BIGINT, y DOUBLE) WITH (path = 's.csv');\n"


def test_a_select_runs_over_the_data_of_the_program(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="SELECT x, y\nFROM s\nWHERE x > 1;\n")
    assert found.code == 0
    assert found.lines == [
        "ts                           x     y",
        "---------------------------  -  ----",
        "2024-01-01T00:00:02Z         2   NaN",
        "2024-01-01T00:00:03.500000Z  3  NULL",
        "(2 rows)",
    ]


def test_a_pull_query_is_answered_at_the_end_of_the_data(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 HOUR END NOW;")
    assert found.lines[-2:] == ["2024-01-01T00:00:03.500000Z  3", "(1 row)"]


def test_a_program_can_be_typed_in_from_nothing(call: Call, place: Path) -> None:
    typed = f"{DECLARED}CREATE QUERY big AS SELECT x FROM s WHERE x > 2;\n\\run BIG\n"
    found = call("shell", stdin=typed)
    assert (found.code, found.err) == (0, "")
    assert found.lines[0] == "stream s, 3 columns"
    assert found.lines[1] == "query big is kept; \\run big shows its results"
    assert found.lines[-2:] == ["2024-01-01T00:00:03.500000Z  3", "(1 row)"]


def test_a_mistake_is_reported_and_the_rest_goes_on(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="SELECT z FROM s;\nSELECT x FROM s WHERE x > 2;")
    assert found.code == 1
    assert "error[CQ031]: s has no column z" in found.err
    assert found.lines[-1] == "(1 row)"


def test_what_is_rejected_is_said(call: Call, place: Path) -> None:
    with (place / "s.csv").open("a") as file:
        file.write("2024-01-01T00:00:04Z,oops,1\n")
    found = call("shell", "p.cq", stdin="SELECT x FROM s;")
    assert found.lines[-1] == "(3 rows) s: 1 rejected: x is not a BIGINT"


def test_a_stream_without_data_says_what_to_do_and_can_be_bound(call: Call, place: Path) -> None:
    typed = "CREATE STREAM b (ts TIMESTAMP, x BIGINT, y DOUBLE);\nSELECT x FROM b;\n\\bind b=s.csv\nSELECT x FROM b;\n"
    found = call("shell", stdin=typed)
    assert found.code == 1
    assert "stream b has no data" in found.err
    assert found.lines[-1] == "(3 rows)"


def test_a_stream_that_never_ends_is_refused(call: Call, place: Path) -> None:
    typed = "CREATE STREAM k (ts TIMESTAMP, value BIGINT) WITH (format = 'rate');\nSELECT value FROM k;\n"
    found = call("shell", stdin=typed)
    assert found.code == 1
    assert "has no end" in found.err


def test_d_lists_what_there_is_and_describes_one(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="\\d\n\\d s\n\\d big\n\\d nothing\n")
    assert "s        stream  ts, x, y" in found.lines
    assert "ts      TIMESTAMP  event time, up to 2 s late" in found.lines
    assert "CREATE QUERY big AS" in found.lines
    assert "there is no nothing here" in found.err


def test_limit_timing_and_lines(call: Call, place: Path) -> None:
    typed = (
        "\\limit 1\n\\timing\nSELECT x FROM s;\n\\limit all\n\\x\nSELECT x FROM s WHERE x = 1;\n"
    )
    found = call("shell", "p.cq", stdin=typed)
    assert "(3 rows, 1 shown; \\limit all shows the rest)" in found.lines
    assert sum(line.startswith("Time: ") and line.endswith(" ms") for line in found.lines) == 2
    assert "x   1" in found.lines


def test_plan_explains_a_query(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="\\plan big\n\\plan SELECT y FROM s WHERE y > 3\n")
    assert "    attribute  x >= 2" in found.lines
    assert "    attribute  y > 3.0" in found.lines


def test_plan_calls_a_query_of_the_program_by_its_name(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="\\plan BIG\n")
    assert "  big (push)" in found.lines
    assert not any("q1" in line for line in found.lines)


def test_a_query_made_of_one_with_parameters_runs_like_any_other(call: Call, place: Path) -> None:
    made = "CREATE QUERY above (least BIGINT = 1) AS SELECT x FROM s WHERE x > :least;"
    (place / "t.cq").write_text(f"{DECLARED}{made}\nCREATE QUERY above_2 AS above(least => 2);\n")
    typed = "\\run above_2\nCREATE QUERY above_0 AS above(least => 0);\n\\run above_0\n\\d\n"
    found = call("shell", "t.cq", stdin=typed)
    assert (found.code, found.err) == (0, "")
    assert [each for each in found.lines if "row" in each] == ["(1 row)", "(3 rows)", "(3 rows)"]
    assert [line.split()[0] for line in found.lines[-3:-1]] == ["above_2", "above_0"]


def test_a_file_is_included(call: Call, place: Path) -> None:
    (place / "more.cq").write_text(DECLARED.replace("s (", "other (") + "SELECT x FROM other;")
    found = call("shell", "p.cq", stdin="\\i more.cq\n\\i nowhere.cq\n")
    assert found.lines[-1] == "(3 rows)"
    assert "cannot read nowhere.cq" in found.err


def test_an_unknown_command_is_told_what_was_meant(call: Call, place: Path) -> None:
    found = call("shell", stdin="\\limt 3\n")
    assert found.code == 1
    assert "Did you mean `\\limit`?" in found.err


def test_what_is_dropped_can_be_declared_anew(call: Call, place: Path) -> None:
    found = call("shell", stdin=f"{DECLARED}{DECLARED}\\drop s\n{DECLARED}")
    assert "s is declared twice" in found.err
    assert found.lines == ["stream s, 3 columns", "s is forgotten", "stream s, 3 columns"]


def test_q_ends_it_and_the_rest_is_not_read(call: Call, place: Path) -> None:
    found = call("shell", "p.cq", stdin="\\q\nSELECT x FROM s;\n")
    assert (found.code, found.out) == (0, "")


def test_help_and_exit_need_no_backslash(call: Call, place: Path) -> None:
    found = call("shell", stdin="help\nexit\nSELECT 1;\n")
    assert (found.code, found.err) == (0, "")
    assert "\\timing" in found.out


def test_a_program_with_mistakes_is_reported(call: Call, place: Path) -> None:
    (place / "wrong.cq").write_text("SELECT 1 FROM nowhere;")
    assert call("shell", "wrong.cq").code == 1
    assert call("shell", "-").code == 2
    assert call("shell", "p.cq", "--url", "http://127.0.0.1:1").code == 2


def test_without_prompt_toolkit_a_terminal_gets_a_sentence(place: Path) -> None:
    (place / "prompt_toolkit.py").write_text("raise ModuleNotFoundError(name='prompt_toolkit')")
    with Terminal(["shell"], place, {"PYTHONPATH": str(place)}) as terminal:
        terminal.wait_for("pip install 'cqc[terminal]'")
        assert terminal.ended() == 2


def test_statements_are_typed_over_several_lines_completed_and_remembered(place: Path) -> None:
    state = {"XDG_STATE_HOME": str(place / "state")}
    with Terminal(["shell", "p.cq"], place, state) as terminal:
        terminal.wait_for("\\q to leave")
        terminal.send("SELECT x\r")
        terminal.wait_for("...")
        terminal.send("FROM s WHERE x > 2;\r")
        terminal.wait_for("(1 row)")
        terminal.send("SELECT zz FROM s ")
        terminal.wait_for("s has no column zz")  # as it is typed
        terminal.send("\x03")  # given up
        terminal.send("\\d bi")
        terminal.wait_for(" big")  # offered
        terminal.send("\t")
        terminal.wait_for("\\d big")  # completed
        terminal.send("\r")
        terminal.wait_for("CREATE QUERY big AS")
        terminal.send("\x04")
        assert terminal.ended() == 0
    assert "WHERE x > 2;" in (place / "state" / "cqc" / "history").read_text()
    with Terminal(["shell", "p.cq"], place, state) as terminal:
        terminal.wait_for("\\q to leave")
        terminal.send("\x1b[A\x1b[A")  # up, up: the SELECT of before
        terminal.wait_for("... FROM s WHERE x > 2;")
        terminal.send("\r")
        terminal.wait_for("(1 row)")
        terminal.send("\\q\r")
        assert terminal.ended() == 0


def test_history_is_private(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "state"))
    path = history_file()
    assert path is not None
    assert path.stat().st_mode & 0o077 == 0
    monkeypatch.setenv("XDG_STATE_HOME", str(place / "p.cq"))
    assert history_file() is None
