"""docs/graph-json.md names what the graph as JSON holds: every record kind and every field, and nothing that is not there."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import cqc
from cqc.compiler.graph.json_form import RECORDS, VERSION

PAGE = (Path(__file__).parents[2] / "docs" / "graph-json.md").read_text()

PROGRAM = """
CREATE STREAM A (ts TIMESTAMP, k BIGINT, v DOUBLE, t STRING) WITH (path = 'a.csv');
CREATE STREAM B (ts TIMESTAMP, k BIGINT, v DOUBLE, t STRING);
CREATE TABLE names (k BIGINT, name STRING);
CREATE QUERY pairs AS SELECT A.v FROM A, B WHERE A.k = B.k AND A.v < B.v + 1 AND A.v > 3 MAXWINDOW 5 SEC;
CREATE QUERY wider AS SELECT A.v FROM A, B, names n WHERE A.k = B.k AND n.k = A.k MAXWINDOW 5 SEC;
CREATE QUERY without AS SELECT A.v FROM A LEFT JOIN B ON A.k = B.k WHERE B.k IS NULL MAXWINDOW 5 SEC;
CREATE QUERY asked AS SELECT COUNT(*) AS n FROM A BEGIN NOW - 1 MINUTE END NOW;
"""

# What is written of relations, bodies and so on: the name of the section, and the key of the document.
SECTIONS = ["relations", "bodies", "hosts", "queries"]


@pytest.fixture(scope="module")
def document() -> dict:
    return json.loads(cqc.compile(PROGRAM).graph.to_json())


def section(name: str) -> str:
    return re.split(r"^## ", PAGE.split(f"\n## {name}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def fields_named_in(name: str) -> set[str]:
    rows = re.findall(r"^\| (`.*?) \|", section(name), flags=re.MULTILINE)
    return {field for row in rows for field in re.findall(r"`(\w+)`", row)}


def test_the_page_names_the_version_that_is_written(document: dict) -> None:
    assert f"version {VERSION}." in PAGE
    assert document["version"] == VERSION


@pytest.mark.parametrize("name", SECTIONS)
def test_the_page_names_every_field_of_a_section_and_no_other(document: dict, name: str) -> None:
    written = {key for each in document[name] for key in each}
    assert fields_named_in(name) == written


def test_the_page_names_every_part_of_the_document(document: dict) -> None:
    shown = json.loads(PAGE.split("```json\n")[1].split("```")[0])
    assert set(shown) == set(document)


def test_the_page_names_every_kind_of_record() -> None:
    named = set(re.findall(r"`([A-Z]\w+)`", PAGE))
    assert set(RECORDS) - named == set()


def test_the_page_names_every_kind_of_operator(document: dict) -> None:
    named = set(section("nodes and edges").split("`kind` (`")[1].split("`")[0].split())
    assert {each["kind"] for each in document["nodes"]} <= named
