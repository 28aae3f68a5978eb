"""`cqc init` makes a project that runs; `cqc backtest` counts what would have fired."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Call


@pytest.fixture
def project(call: Call, tmp_path: Path) -> Path:
    folder = tmp_path / "new" / "rooms"
    assert call("init", folder).code == 0
    return folder


def test_a_new_project_does_what_its_readme_says(
    call: Call, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    readme = (project / "README.md").read_text(encoding="utf-8")
    commands = [line.split("#")[0].split() for line in readme.splitlines() if line[:4] == "cqc "]
    assert [words[1] for words in commands] == [
        *("check", "run", "test", "compile", "backtest", "run"),
    ]
    for words in commands:
        if words[1:] != ["run", "rooms.cq"]:  # the one on Spark
            assert call(*words[1:]).code == 0, words
    assert call("fmt", "--check", "rooms.cq").code == 0
    assert "coverage: 3 of 3 queries fired" in call("test", "tests", "--coverage").out


def test_nothing_is_overwritten(call: Call, project: Path) -> None:
    (project / "README.md").write_text("mine")
    finished = call("init", project)
    assert finished.code == 2
    assert "is there already" in finished.err
    assert (project / "README.md").read_text() == "mine"


def backtest(call: Call, project: Path, *more: str) -> dict[str, object]:
    finished = call("backtest", project / "rooms.cq", "--format", "json", *more)
    assert finished.code == 0, finished.err
    answer: dict[str, object] = json.loads(finished.out)
    return answer


def test_results_are_counted_by_day_the_noisiest_first(call: Call, project: Path) -> None:
    with (project / "data" / "sensors.csv").open("a") as file:
        file.write("2024-05-02T00:00:00Z,attic,30\n2024-05-02T00:00:01Z,attic,31\n")
    found = backtest(call, project, "--samples", "1", "--query", "hot", "--query", "hot_and_open")
    queries = found["queries"]
    assert isinstance(queries, list)
    assert [each["query"] for each in queries] == ["hot", "hot_and_open"]
    hot = queries[0]
    assert hot["results"] == 4
    assert hot["days"] == {"2024-05-01": 2, "2024-05-02": 2}
    assert (hot["first"], hot["last"]) == ("2024-05-01T12:00:10Z", "2024-05-02T00:00:01Z")
    assert hot["samples"] == [
        {"ts": "2024-05-01T12:00:10Z", "row": {"room": "server room", "temperature": 27.5}}
    ]


def test_compare_shows_what_is_added_and_lost(call: Call, project: Path) -> None:
    text = (project / "rooms.cq").read_text(encoding="utf-8")
    changed = project / "changed.cq"
    changed.write_text(
        text.replace("WHERE  temperature > 26;", "WHERE  temperature < 23 OR temperature > 28;")
    )
    found = backtest(call, project, "--compare", str(changed), "--query", "hot")
    (difference,) = found["compare"]  # type: ignore[misc]
    assert difference["added"] == 1
    assert difference["lost"] == 1
    assert difference["added_samples"][0]["row"] == {"room": "kitchen", "temperature": 22.5}
    assert difference["lost_samples"][0]["row"] == {"room": "server room", "temperature": 27.5}
    text = call("backtest", project / "rooms.cq", "--compare", changed).out
    assert "hot: 1 added, 1 lost (2 before, 2 after)" in text


def test_silent_queries_are_named_and_sinks_get_nothing(call: Call, project: Path) -> None:
    out = project / "out.jsonl"
    with (project / "rooms.cq").open("a") as file:
        file.write(f"CREATE SINK archive WITH (type = 'file', path = '{out}');\n")
        file.write(
            "CREATE QUERY burning INTO archive AS SELECT room FROM sensors WHERE temperature > 90;\n"
        )
        file.write(
            "CREATE QUERY warm INTO archive AS SELECT room FROM sensors WHERE temperature > 9;\n"
        )
    finished = call("backtest", project / "rooms.cq")
    assert finished.code == 0
    assert "nothing: burning" in finished.out
    assert finished.lines[0].startswith("warm: 5 results")
    assert not out.exists()


def test_missing_data_fails_and_unknown_queries_are_wrong_usage(call: Call, project: Path) -> None:
    assert call("backtest", project / "rooms.cq", "--bind", "sensors=nowhere.csv").code == 3
    assert call("backtest", project / "rooms.cq", "--query", "nobody").code == 2


def test_a_backtest_goes_without_streams_of_which_nothing_was_recorded(
    call: Call, tmp_path: Path
) -> None:
    program = tmp_path / "p.cq"
    program.write_text(
        "CREATE STREAM a (ts BIGINT); CREATE STREAM b (ts BIGINT);\n"
        "CREATE QUERY qa AS SELECT ts FROM a; CREATE QUERY qb AS SELECT ts FROM b;\n"
    )
    (tmp_path / "a.csv").write_text("ts\n1\n")
    found = call("backtest", program, "--bind", f"a={tmp_path / 'a.csv'}")
    assert (found.code, found.err) == (0, "note: nothing was recorded of b\n")
    assert found.out.splitlines()[-1].startswith("1 result of 1 of 2 queries over ")
    assert "has no data" in call("backtest", program).err
    assert "--query nothing: no such query" in call("backtest", program, "--query", "nothing").err
