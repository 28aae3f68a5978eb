"""Which views a query reads, without parsing texts that have none of their words."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler import view_texts
from cqc.compiler.view_texts import ViewTexts

PROGRAM = """CREATE STREAM s (ts BIGINT, x BIGINT);
CREATE VIEW low AS SELECT ts, x FROM s WHERE x < 5;
CREATE VIEW Lower AS SELECT ts, x FROM low WHERE x < 3;
CREATE VIEW "odd name" AS SELECT ts, x FROM lower;
CREATE QUERY a AS SELECT x FROM s;
CREATE QUERY b AS SELECT x FROM LOWER;
CREATE QUERY c AS SELECT x FROM "odd name";
CREATE QUERY d AS SELECT s.x AS low FROM s;
CREATE QUERY f AS WITH low AS (SELECT ts, x FROM s WHERE x > 1) SELECT x FROM low;"""


@pytest.mark.parametrize(
    ("query", "views"),
    [
        ("a", []),
        ("b", ["low", "lower"]),
        ("c", ["low", "lower", "odd name"]),
        ("d", []),
        ("f", []),
    ],
)
def test_views_are_found_through_views(query: str, views: list[str]) -> None:
    program = cqc.compile(PROGRAM)
    texts = ViewTexts(program.catalog.views)
    found = texts.read_by(program.graph.queries[query].span.text)
    assert sorted(found) == views
    assert all(text.startswith("CREATE VIEW") for text in found.values())


def test_a_text_without_a_word_of_a_view_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    program = cqc.compile(PROGRAM)
    texts = ViewTexts(program.catalog.views)
    monkeypatch.setattr(view_texts, "parse", None)
    assert texts.read_by("CREATE QUERY a AS SELECT x FROM s WHERE x = 'lowest'") == {}


def test_a_query_over_views_says_what_they_are() -> None:
    first = cqc.compile(PROGRAM)
    other = cqc.compile(PROGRAM.replace("x < 5", "x < 6"))
    assert first.text_of("a") == other.text_of("a")
    for name in ("b", "c"):
        assert first.text_of(name) != other.text_of(name)
        assert first.text_of(name).partition(" /* views ")[0] == first.graph.queries[name].span.text
