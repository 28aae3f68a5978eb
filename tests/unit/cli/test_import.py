"""`cqc import sigma`: files in, a program out, and a list of what could not be said."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("sigma.rule")

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.cli.conftest import Call

RULE = """\
title: {title}
name: {name}
level: high
logsource: {{category: process_creation, product: windows}}
detection:
  selection:
    Image|endswith: {ending}
  condition: selection
"""


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules" / "deep"
    folder.mkdir(parents=True)
    (folder / "one.yml").write_text(
        RULE.format(title="Who am I", name="who", ending="\\whoami.exe")
    )
    (folder / "two.yaml").write_text(RULE.format(title="Net", name="net", ending="\\net.exe"))
    (folder / "many.yml").write_text(
        "title: Many\ncorrelation:\n  type: event_count\n  rules: [who]\n  group-by: [User]\n  timespan: 1m\n  condition: {gte: 2}\n"
    )
    return tmp_path / "rules"


def test_a_program_is_written_that_runs(call: Call, rules: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    finished = call("import", "sigma", rules, "-o", out)
    assert (finished.code, finished.out) == (0, "")
    assert sorted(path.name for path in out.iterdir()) == [
        *("many.cq", "net.cq", "streams.cq", "who_am_i.cq"),
    ]
    events = [
        ("00:00:00", "\\whoami.exe", "u"),
        ("00:00:30", "\\WHOAMI.EXE", "u"),
        ("00:01:00", "\\net.exe", "u"),
    ]
    (tmp_path / "e.jsonl").write_text(
        "".join(
            json.dumps({"ts": f"2024-01-01T{time}Z", "Image": "C:" + image, "User": user}) + "\n"
            for time, image, user in events
        )
    )
    bind = f"windows_process_creation={tmp_path / 'e.jsonl'}"
    ran = call("run", out, "--engine", "local", "--bind", bind)
    found = [json.loads(line) for line in ran.lines]
    assert [(each["query"], each["ts"]) for each in found] == [
        ("net", "2024-01-01T00:01:00Z"),
        ("many", "2024-01-01T00:00:30Z"),
    ] or sorted((each["query"], each["ts"]) for each in found) == [
        ("many", "2024-01-01T00:00:30Z"),
        ("net", "2024-01-01T00:01:00Z"),
    ]


def test_what_cannot_be_said_is_listed_and_the_rest_is_written(
    call: Call, rules: Path, tmp_path: Path
) -> None:
    (rules / "bad.yml").write_text("title: [unclosed")
    (rules / "text.yml").write_text("just text")
    (rules / "empty.yml").write_text("title: Nothing\nlogsource: {product: x}\n")
    (rules / "lost.yml").write_text(
        "title: Lost\ncorrelation: {type: temporal, rules: [who, nobody], timespan: 1m}\n"
    )
    (rules / "regex.yml").write_text(
        "title: Regex\nname: rx\nlogsource: {product: x}\ndetection: {s: {A|re: '(?!x)y'}, condition: s}\n"
    )
    (rules / "chain.yml").write_text(
        "title: Chain\ncorrelation: {type: event_count, rules: [rx], timespan: 1m, condition: {gte: 2}}\n"
    )
    finished = call("import", "sigma", rules, "-o", tmp_path / "out")
    assert finished.code == 0
    listed = [line for line in finished.err.splitlines() if line.startswith("not said: ")]
    assert len(listed) == 6, finished.err
    assert any(
        "Lost" in line and "references nobody, which is not there" in line for line in listed
    )
    assert any("Regex" in line and "linear time" in line for line in listed)
    assert any("Chain" in line and "Regex that it references" in line for line in listed)
    assert "3 rules written" in finished.err
    assert call("import", "sigma", rules, "--strict").code == 1
    assert call("check", tmp_path / "out").code == 0


def test_without_a_folder_the_program_is_on_standard_output(
    call: Call, rules: Path, tmp_path: Path
) -> None:
    finished = call("import", "sigma", rules)
    path = tmp_path / "all.cq"
    path.write_text(finished.out)
    assert call("check", path).code == 0


def test_wrong_usage(call: Call, rules: Path, tmp_path: Path) -> None:
    assert call("import", "sigma", tmp_path / "nowhere").code == 2
    assert call("import", "sigma", rules, "--pipeline", "nobody_has_this").code == 2
    assert call("import", "sigma", rules, "--mapping", "nowhere.yml").code == 2
    assert call("import", "sigma", rules, "--delay", "soon; DROP").code == 2
    assert call("import", "sigma").code == 2


def test_a_pipeline_from_a_file(call: Call, rules: Path, tmp_path: Path) -> None:
    pipeline = tmp_path / "mine.yml"
    pipeline.write_text(
        "name: mine\npriority: 10\ntransformations:\n"
        "  - {id: a, type: field_name_mapping, mapping: {Image: process.executable}}\n"
    )
    finished = call("import", "sigma", rules, "--pipeline", pipeline)
    assert finished.code == 0
    assert "\"process.executable\" STRING FROM 'process.executable'" in finished.out


def test_rules_become_alerts_with_their_level_as_severity(
    call: Call, rules: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    options = ("--alerts", "--per", "User", "--once-every", "2 HOURS")
    assert call("import", "sigma", rules, *options, "-o", out).code == 0
    times = ("00:00", "00:30", "02:30")
    (tmp_path / "e.jsonl").write_text(
        "".join(
            json.dumps({"ts": f"2024-01-01T{time}:00Z", "Image": "C:\\net.exe", "User": "u"}) + "\n"
            for time in times
        )
    )
    bind = f"windows_process_creation={tmp_path / 'e.jsonl'}"
    ran = call("run", out, "--engine", "local", "--bind", bind)
    told = [json.loads(line) for line in ran.lines]
    assert [(each["query"], each["ts"][11:16], each["alert"]["state"]) for each in told] == [
        ("net", "00:00", "firing"),
        ("net", "02:30", "repeated"),
        ("net", "04:30", "no_data"),
    ]
    assert told[0]["alert"]["severity"] == "high"
    assert told[0]["alert"]["key"] == {"User": "u"}


EQL = """\
sequence by user.name with maxspan=5m
  [authentication where event.outcome == "failure"] with runs=3
  [authentication where event.outcome == "success" and not cidrMatch(source.ip, "10.0.0.0/8")]
"""


def test_eql_becomes_a_program_that_runs(call: Call, tmp_path: Path) -> None:
    (tmp_path / "brute.eql").write_text(EQL)
    (tmp_path / "bad.eql").write_text("process where true | head 1")
    out = tmp_path / "out"
    finished = call("import", "eql", tmp_path, "-o", out)
    assert (finished.code, finished.out) == (0, "")
    assert "not said: bad (" in finished.err
    assert "1 rule written to" in finished.err
    assert call("import", "eql", tmp_path, "-o", out, "--strict").code == 1
    events = [("failure", second) for second in (1, 2, 3)] + [("success", 9)]
    (tmp_path / "e.jsonl").write_text(
        "".join(
            json.dumps(
                {
                    "@timestamp": f"2024-01-01T00:00:0{second}Z",
                    "event": {"category": ["authentication"], "outcome": outcome},
                    "user": {"name": "ann"},
                    "source": {"ip": "192.0.2.1"},
                }
            )
            + "\n"
            for outcome, second in events
        )
    )
    bind = f"events={tmp_path / 'e.jsonl'}"
    found = call("run", out, "--engine", "local", "--quiet", "--bind", bind)
    [result] = found.out.splitlines()
    assert json.loads(result)["row"]["began_1"] == "2024-01-01T00:00:01Z"
