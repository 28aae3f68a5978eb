"""Files of EQL and of Elastic's detection rules to a program, and the list of what is not in it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cqc.importers.eql.rule_set import Options, import_rules

if TYPE_CHECKING:
    from pathlib import Path

TOML = """\
[metadata]
maturity = "production"
[rule]
name = "A Shell: started"
rule_id = "0123-4567"
severity = "high"
language = "eql"
tags = ["Domain: Endpoint", "Tactic: Execution"]
author = ["Us"]
description = "Two\\nlines"
query = '''
process where process.name == "sh"
'''
"""


def names(folder: Path) -> list[str]:
    return [each.name for each in import_rules([str(folder)], Options()).files]


def test_a_rule_in_toml_keeps_its_texts(tmp_path: Path) -> None:
    (tmp_path / "r.toml").write_text(TOML)
    [made] = import_rules([str(tmp_path)], Options()).files
    assert made.name == "a_shell_started"
    assert made.text.startswith(
        "-- A Shell: started\n-- id: 0123-4567\n-- level: high\n-- tags: Domain: Endpoint, Tactic: Execution\n"
        "-- Two lines\n-- from r.toml\n"
        "CREATE QUERY a_shell_started WITH (title = 'A Shell: started', id = '0123-4567', level = 'high', "
        "tags = 'Domain: Endpoint, Tactic: Execution', author = 'Us') AS\n"
    )


def test_json_holds_one_rule_several_or_one_a_line(tmp_path: Path) -> None:
    rules = [{"name": f"R {at}", "language": "eql", "query": "any where true"} for at in range(5)]
    (tmp_path / "a.json").write_text(json.dumps(rules[0]))
    (tmp_path / "b.json").write_text(json.dumps(rules[1:3]))
    exported = json.dumps({"id": "1", "attributes": rules[4]})
    (tmp_path / "c.ndjson").write_text(f"{json.dumps(rules[3])}\n\n{exported}\n")
    assert names(tmp_path) == ["r_0", "r_1", "r_2", "r_3", "r_4"]


def test_names_are_made_unique_by_the_id_or_a_number(tmp_path: Path) -> None:
    rule = {"name": "R", "language": "eql", "query": "any where true"}
    rules = [rule, rule | {"rule_id": "abcdefghij"}, rule]
    (tmp_path / "a.json").write_text(json.dumps(rules))
    (tmp_path / "b.eql").write_text("any where true; file where true")
    assert names(tmp_path) == ["r", "r_abcdefgh", "r_2", "b", "b_2"]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.eql", "process where", "a (PATH): it is not EQL: it ends too early"),
        ("a.toml", "x = ", "a (PATH): it cannot be read: "),
        ("a.toml", "[rule]\nname = 'x'", "a (PATH): it is no detection rule: it has no query"),
        (
            "a.json",
            '{"name": "K", "query": "a:b", "language": "kuery"}',
            "K: its language is kuery",
        ),
        ("a.json", '{"name": "T", "query": "any where x > null"}', "T (PATH): nothing is > null"),
        ("a.json", "[1]", "it is no detection rule"),
    ],
)
def test_what_cannot_be_said_is_listed(name: str, text: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    imported = import_rules([str(path)], Options())
    [listed] = imported.not_said
    assert imported.files == []
    assert reason.replace("PATH", str(path)) in str(listed)


def test_a_sequence_without_a_span_is_noted(tmp_path: Path) -> None:
    (tmp_path / "s.eql").write_text("sequence by a [file where true] [file where true]")
    [note] = import_rules([str(tmp_path)], Options()).notes
    assert note.endswith("events are kept for ever.")
