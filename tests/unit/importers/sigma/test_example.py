"""The rules of examples/sigma find what is written down there, and docs/sigma.md shows what they become."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sigma.rule")

import cqc
from cqc.importers.sigma.rule_set import import_rules

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "sigma"


def test_the_example_finds_what_it_says() -> None:
    imported = import_rules([str(EXAMPLE / "rules")], None, mapping=("cloudtrail",))
    assert not imported.not_said
    program = cqc.compile("\n".join([imported.streams, *(each.text for each in imported.files)]))
    with cqc.Engine(program) as engine:
        for path in sorted((EXAMPLE / "events").iterdir()):
            engine.push(path.stem, [json.loads(line) for line in path.read_text().splitlines()])
        engine.finish()
        found = [(result.query, str(result.ts)) for result in engine.drain()]
    expected = [json.loads(line) for line in (EXAMPLE / "expected.jsonl").read_text().splitlines()]
    wanted = [
        (each["query"], each["ts"].replace("T", " ").replace("Z", "+00:00")) for each in expected
    ]
    assert sorted(found) == sorted(wanted)


def test_the_page_shows_what_rules_become() -> None:
    page = (ROOT / "docs" / "sigma.md").read_text(encoding="utf-8")
    imported = import_rules([str(EXAMPLE / "rules")], None, mapping=("cloudtrail",))
    texts = {each.name: each.text for each in imported.files}
    for name in ("somebody_asks_who_they_are", "many_failed_logons_of_one_user"):
        assert f"$ cat program/{name}.cq\n{texts[name]}```" in page
