"""Conditions of EQL as text of the language."""

from __future__ import annotations

import pytest

from cqc.importers.eql.conditions import Conditions
from cqc.importers.eql.parse import EqlError, parse
from cqc.importers.eql.syntax import EventQuery
from cqc.importers.mapping import Place
from cqc.importers.streams import Stream


def said(text: str, alias: str = "") -> str:
    [query] = parse(f"any where {text}")
    assert isinstance(query, EventQuery)
    return Conditions(Stream("events", Place("events")), alias).condition(query.condition)


@pytest.mark.parametrize(
    ("eql", "text"),
    [
        ('x == "a%"', "x = 'a%'"),
        ('x : "a%*?"', "x ILIKE 'a\\%%_'"),
        ('x : "a"', "x ILIKE 'a'"),
        ('x like "a*"', "x LIKE 'a%'"),
        ("x == 4", "x = '4'"),
        ("4 < x", "TRY_CAST(x AS DOUBLE) > 4"),
        ("x == true", "x = 'true'"),
        ("x", "x = 'true'"),
        ("x == null", "x IS NULL"),
        ("null != x", "x IS NOT NULL"),
        ('x != "a"', "(x = 'a') IS NOT TRUE"),
        ("not x > 1", "TRY_CAST(x AS DOUBLE) <= 1"),
        ('not x : "a"', "(x ILIKE 'a') IS NOT TRUE"),
        ('x in ("a", 1)', "x IN ('a', '1')"),
        ('x in~ ("a", "B")', "x ILIKE 'a' OR x ILIKE 'B'"),
        ("x == y", "x = y"),
        ("x >= y", "TRY_CAST(x AS DOUBLE) >= TRY_CAST(y AS DOUBLE)"),
        ('x regex~ "a|b"', "x RLIKE '(?is)^(?:a|b)$'"),
        ('match(x, "a")', "x RLIKE '(?s)^(?:a)$'"),
        ('wildcard~(x, "a*", "b")', "x ILIKE 'a%' OR x ILIKE 'b'"),
        ('cidrMatch(x, "10.0.0.1/8")', "cidr_match(x, '10.0.0.0/8')"),
        ('stringContains~(x, "a_")', "x ILIKE '%a\\_%'"),
        ("startsWith~(x, y)", "startswith(lower(x), lower(y))"),
        ("length(x) > 3", "length(x) > 3"),
        ('concat(x, ":", 1) == "a:1"', "concat(x, ':', CAST(1 AS STRING)) = 'a:1'"),
        ("add(x, 1) == 3", "(TRY_CAST(x AS DOUBLE) + 1) = 3"),
        ('indexOf(x, "a") == 0', "nullif(locate('a', x), 0) - 1 = 0"),
        ('substring(x, 1, 3) == "bc"', "substring(x, 2, 2) = 'bc'"),
        ('substring(x, -2) == "yz"', "right(x, 2) = 'yz'"),
        ('between(x, "(", ")") == "a"', "regexp_extract(x, '(?s)\\((.*?)\\)', 1) = 'a'"),
        ("number(x) == 5", "TRY_CAST(x AS DOUBLE) = 5"),
        ('string(x) == "5"', "x = '5'"),
        ("true == (x == 1)", "(x = '1') = TRUE"),
        ('@timestamp > "2024"', "CAST(ts AS STRING) > '2024'"),
        ('event.type == "end"', """"event.type" = 'end' OR "event.type" LIKE '[%"end"%'"""),
    ],
)
def test_conditions(eql: str, text: str) -> None:
    assert said(eql) == text


def test_a_field_of_a_list_is_looked_for_by_its_text_first() -> None:
    assert said('tags : "a*"') == (
        "tags ILIKE '%a%' AND exists(coalesce(from_json(tags, 'array<string>'), array(tags)), value -> value ILIKE 'a%')"
    )


def test_columns_have_the_alias_of_their_item() -> None:
    assert said('a.b == "x" and c > 1', "e1") == "e1.\"a.b\" = 'x' AND TRY_CAST(e1.c AS DOUBLE) > 1"


@pytest.mark.parametrize(
    ("eql", "reason"),
    [
        ("1 + 1", "a value stands where a condition is wanted"),
        ("foo(x) == 1", "there is no function foo of 1 arguments"),
        ("length(x)", "length gives no truth value"),
        ("x > null", "nothing is > null"),
        ("x in (y)", "`in` wants a list of literals"),
        ("x : y", "`:` wants a text"),
        ('x regex "a~b"', "operators that only Lucene knows"),
        (r'x regex """(a)\1"""', "cannot be matched in linear time"),
        ('cidrMatch(x, "here")', "cidrMatch wants networks, not here"),
        ("a[0].b == 1", "the field a[0].b is inside a list"),
        ('substring(x, -3, -1) == "a"', "counted from behind"),
        ("(x == 1) + 1 == 2", "a truth value stands where a number is wanted"),
    ],
)
def test_what_cannot_be_said_has_a_reason(eql: str, reason: str) -> None:
    with pytest.raises(EqlError) as error:
        said(eql)
    assert reason in str(error.value)
