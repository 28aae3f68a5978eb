"""Only the difference between the wanted and the running queries is registered."""

from __future__ import annotations

import cqc
from cqc.runtime.engine.query_book import QueryHandle
from cqc.runtime.run.query_set import QuerySet, first_set, texts_of


class Noted:
    """A registrar that notes what is asked of it."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def register(self, text: str, name: str | None = None) -> QueryHandle:
        self.said.append(f"+{name} {text}")
        return QueryHandle(name or "q1")

    def unregister(self, query: QueryHandle | str) -> None:
        self.said.append(f"-{query}")


PROGRAM = cqc.compile(
    "CREATE STREAM s (ts BIGINT, x BIGINT);"
    "CREATE QUERY a AS SELECT x FROM s; CREATE QUERY B AS SELECT ts FROM s;"
)


def test_what_stays_the_same_is_left_alone_white_space_aside() -> None:
    noted = Noted()
    queries = first_set(noted, PROGRAM, ())
    assert queries.change_to({"a": "SELECT  x\nFROM s", "B": "SELECT ts FROM s"}) == []
    assert noted.said == []


def test_a_changed_text_replaces_and_a_missing_one_removes() -> None:
    noted = Noted()
    queries = first_set(noted, PROGRAM, ())
    changes = queries.change_to({"a": "SELECT x + 1 AS x FROM s", "c": "SELECT 1 AS o FROM s"})
    assert noted.said == ["-a", "-B", "+a SELECT x + 1 AS x FROM s", "+c SELECT 1 AS o FROM s"]
    assert changes == ["query B removed", "query a registered", "query c registered"]
    assert [query.name for query in queries.running] == ["a", "c"]


def test_queries_that_come_one_by_one_are_known() -> None:
    queries = QuerySet(Noted(), [])
    queries.remove(queries.add("SELECT x FROM s"))
    queries.add("SELECT x FROM s", "z")
    assert [query.name for query in queries.running] == ["z"]


def test_the_texts_of_a_program_can_be_chosen() -> None:
    assert list(texts_of(PROGRAM, ("b",))) == ["B"]
