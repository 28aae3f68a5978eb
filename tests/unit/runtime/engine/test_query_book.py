"""The book knows which registration a handle stands for, and what has left."""

from __future__ import annotations

import pytest

from cqc.runtime.engine import query_book
from cqc.runtime.engine.query_book import QueryBook, QueryHandle
from cqc.runtime.errors import RunError


def test_a_name_is_found_whatever_its_case() -> None:
    book = QueryBook()
    book.add("Fever", None, {})
    assert book.name_of("fEVER") == "Fever"
    with pytest.raises(RunError, match="there is no query cold"):
        book.name_of("cold")


def test_a_handle_of_the_first_query_is_not_taken_for_the_second_of_its_name() -> None:
    book = QueryBook()
    book.add("q", "one", {})
    first = book.handle("q")
    book.remove("q", 3)
    book.add("q", "two", {})
    with pytest.raises(RunError, match="another one has its name now"):
        book.name_of(first)
    assert book.name_of(book.handle("q")) == "q"
    assert book.name_of(QueryHandle("q")) == "q"


def test_a_handle_of_another_engine_is_refused() -> None:
    book, other = QueryBook(), QueryBook()
    book.add("q", None, {})
    other.add("q", None, {})
    with pytest.raises(RunError, match="another engine"):
        book.name_of(other.handle("q"))


def test_a_reserved_name_is_taken_and_no_query() -> None:
    book = QueryBook()
    book.taken["q"] = "q"
    with pytest.raises(RunError, match="no query q"):
        book.name_of("q")


def test_results_of_queries_that_have_left_add_up_and_the_oldest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(query_book, "_MOST_GONE", 2)
    book = QueryBook()
    for name, results in (("a", 1), ("b", 2), ("a", 4), ("c", 8), ("never began", None)):
        book.add(name, None, {})
        book.remove(name, results)
    assert book.gone == {"a": 5, "c": 8}


def test_queries_that_come_together_share_the_note_of_their_place() -> None:
    book = QueryBook()
    first, second = book.add("a", None, {"s": 1}), book.add("b", None, {"s": 1})
    assert first.since is second.since
    assert book.add("c", None, {"s": 2}).since == {"s": 2}
