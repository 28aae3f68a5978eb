"""The registry's entries are well formed, and calls are bound by what they say."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.functions.aggregates import AGGREGATES
from cqc.compiler.functions.argument_rules import NUMBER, ONE_TYPE, POSITION
from cqc.compiler.functions.entry import (
    FunctionEntry,
    ScalarEntry,
    first_type,
    many,
    one,
    optional,
    shared_type,
)
from cqc.compiler.functions.registry import (
    AGGREGATE_FUNCTIONS,
    SCALAR_FAMILIES,
    SCALAR_FUNCTIONS,
    function_names,
)
from cqc.compiler.meaning.bound import AggregateFunction, FunctionCall
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from tests.support.bind_text import bind_text, expression

ENTRIES: list[FunctionEntry] = [*SCALAR_FUNCTIONS.values(), *AGGREGATE_FUNCTIONS.values()]
STREAM = "CREATE STREAM s (ts BIGINT, x BIGINT, t STRING);"


def entry_of(*arguments: object, result: object = first_type) -> ScalarEntry:
    return ScalarEntry("f", arguments, result, "A function.", ("f(1)", 1))  # type: ignore[arg-type]


def test_every_function_is_found_by_its_name_and_its_other_names() -> None:
    scalars = [entry for family in SCALAR_FAMILIES.values() for entry in family]
    for entries, found in ((scalars, SCALAR_FUNCTIONS), (AGGREGATES, AGGREGATE_FUNCTIONS)):
        names = [name for entry in entries for name in (entry.name, *entry.aliases)]
        assert sorted(names) == sorted(found)
        assert all(
            found[name] is entry for entry in entries for name in (entry.name, *entry.aliases)
        )
    assert len(set(function_names())) == len(function_names())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_an_entry_is_folded_and_documented(entry: FunctionEntry) -> None:
    assert all(name == fold(name) for name in (entry.name, *entry.aliases))
    assert entry.summary.endswith(".")
    assert "\n" not in entry.summary
    operator = getattr(entry, "operator", None)
    assert operator is not None or fold(entry.example[0]).startswith(f"{entry.name}(")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_optional_and_repeated_arguments_come_last(entry: FunctionEntry) -> None:
    marks = [(argument.is_optional, argument.is_repeated) for argument in entry.arguments]
    assert marks == sorted(marks)
    assert [repeats for _, repeats in marks[:-1]] == [False] * len(marks[:-1])


def test_an_entry_says_how_many_arguments_it_takes() -> None:
    assert (entry_of(one("x", NUMBER)).least, entry_of(one("x", NUMBER)).most) == (1, 1)
    with_digits = entry_of(one("x", NUMBER), optional("digits", POSITION))
    assert (with_digits.least, with_digits.most) == (1, 2)
    repeated = entry_of(one("x", NUMBER), many("x", NUMBER))
    assert (repeated.least, repeated.most) == (2, None)


def test_the_result_type_follows_the_first_or_the_united_arguments() -> None:
    text_and_numbers = (one("x", POSITION), one("a", ONE_TYPE), one("b", ONE_TYPE))
    types = (ColumnType.BIGINT, ColumnType.STRING, ColumnType.STRING)
    assert entry_of(*text_and_numbers).result_type(types) is ColumnType.BIGINT
    shared = entry_of(*text_and_numbers, result=shared_type)
    assert shared.result_type(types) is ColumnType.STRING
    assert [shared.argument_type(at, ColumnType.STRING) for at in range(3)] == [
        *(None, ColumnType.STRING, ColumnType.STRING)
    ]


def test_every_aggregate_has_an_entry() -> None:
    known = {each.name.lower() for each in AggregateFunction} - {"count_all", "user"}
    assert known == {entry.function or entry.name for entry in AGGREGATES}


def test_a_call_by_another_name_is_a_call_of_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALAR_FUNCTIONS, "rounded_up", SCALAR_FUNCTIONS["ceil"])
    call = expression("Rounded_Up(pressure)")
    assert isinstance(call, FunctionCall)
    assert call.name == "ceil"


def test_a_wrong_count_names_what_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = (one("x", NUMBER), optional("y", NUMBER), optional("z", NUMBER))
    monkeypatch.setitem(SCALAR_FUNCTIONS, "upto3", entry_of(*arguments))
    messages = [
        bind_text(STREAM, f"SELECT {call} AS v FROM s").diagnostics[0].message
        for call in ("upto3()", "round(1, 2, 3)", "least(1)", "abs()")
    ]
    assert [message.partition(" takes ")[2].partition(",")[0] for message in messages] == [
        "1 to 3 arguments",
        "1 or 2 arguments",
        "at least 2 arguments",
        "1 argument",
    ]


def test_a_function_without_a_form_for_constants_is_left_to_the_runtime() -> None:
    query = cqc.compile(STREAM + "SELECT x FROM s WHERE t = lower('A') AND x > abs(-3)").normal(
        "q1"
    )
    shown = str(query)
    assert "name='lower'" in shown
    assert "name='abs'" not in shown
