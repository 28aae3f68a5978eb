"""Rules to conditions, in the way of pySigma's own tests of backends: one kind of value or modifier each."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sigma.rule")

from sigma.collection import SigmaCollection
from sigma.exceptions import SigmaError
from sigma.plugins import InstalledSigmaPlugins
from sigma.processing.pipeline import ProcessingPipeline

import cqc
from cqc.importers.sigma.backend import CqcBackend
from tests.support.sigma.running import convert

RULE = """
title: Test
status: test
logsource: {{category: test_category, product: test_product}}
detection:
  sel: {detection}
  condition: {condition}
"""


def where(detection: str, condition: str = "sel", **options: Any) -> str:
    """The condition that a detection becomes; the program compiles."""
    collection = SigmaCollection.from_yaml(RULE.format(detection=detection, condition=condition))
    program = CqcBackend(**options).convert(collection)
    cqc.compile("\n".join(program))
    assert len(program) == 2
    return str(program[1].partition("WHERE  ")[2].rstrip(";\n"))


@pytest.mark.parametrize(
    ("detection", "expected"),
    [
        ("{A: a, B: b}", "A ILIKE 'a' AND B ILIKE 'b'"),
        ("[{A: a}, {B: b}]", "A ILIKE 'a' OR B ILIKE 'b'"),
        ("{A: [a, B, 7]}", "lower(A) IN ('a', 'b', '7')"),
        ("{A: [a, 'b*']}", "A ILIKE 'a' OR A ILIKE 'b%'"),
        ("{A: [a, é]}", "A ILIKE 'a' OR A ILIKE 'é'"),
        ("{A: 'a?b*c'}", "A ILIKE 'a_b%c'"),
        (r"{A: 'a\*b\?c\\*'}", r"A ILIKE 'a*b?c\\%'"),
        ("{A: '100%_'}", r"A ILIKE '100\%\_'"),
        (r"{A: 'C:\Windows\x'}", r"A ILIKE 'C:\\Windows\\x'"),
        ("{A: it's}", "A ILIKE 'it''s'"),
        ("{A|contains: x}", "A ILIKE '%x%'"),
        ("{A|startswith: x}", "A ILIKE 'x%'"),
        ("{A|endswith: x}", "A ILIKE '%x'"),
        ("{A|contains|all: [x, y]}", "A ILIKE '%x%' AND A ILIKE '%y%'"),
        ("{A|cased: Xy}", "A = 'Xy'"),
        ("{A|cased|startswith: Xy}", "A LIKE 'Xy%'"),
        ("{A|startswith|cased: Xy}", "A LIKE 'Xy%'"),
        ("{A|re: 'x.*y'}", "A RLIKE 'x.*y'"),
        ("{A|re|i|s: 'x.*y'}", "A RLIKE '(?is)x.*y'"),
        ("{A|re|i|m: '^x$'}", "A RLIKE '(?im)^x$'"),
        ("{A: 7}", "A = '7'"),
        ("{A: 7.5}", "A = '7.5'"),
        ("{A: true}", "A ILIKE 'true'"),
        ("{A|gte: 7}", "TRY_CAST(A AS DOUBLE) >= 7"),
        ("{A|lt: 7.5}", "TRY_CAST(A AS DOUBLE) < 7.5"),
        ("{A: null}", "A IS NULL"),
        ("{A: ''}", "A = ''"),
        ("{A: []}", "A IS NULL"),
        ("{A|exists: true}", "A IS NOT NULL"),
        ("{A|exists: false}", "A IS NULL"),
        ("{A|neq: x}", "(A ILIKE 'x') IS NOT TRUE"),
        ("{A|fieldref: B}", "lower(A) = lower(B)"),
        ("{A|fieldref|startswith: B}", "startswith(lower(A), lower(B))"),
        ("{A|fieldref|contains: B}", "contains(lower(A), lower(B))"),
        ("{A|hour: 3}", "hour(TRY_CAST(A AS TIMESTAMP)) = 3"),
        ("{ts|hour: 3}", "hour(ts) = 3"),
        ("{A|base64: foobar}", "A ILIKE 'Zm9vYmFy'"),
        (
            "{A|base64offset|contains: foobar}",
            "A ILIKE '%Zm9vYmFy%' OR A ILIKE '%Zvb2Jhc%' OR A ILIKE '%mb29iYX%'",
        ),
        (
            "{A|windash: ' -x'}",
            "A ILIKE ' -x' OR A ILIKE ' /x' OR A ILIKE ' \u2013x' OR A ILIKE ' \u2014x' OR A ILIKE ' \u2015x'",
        ),
        ("{'field name': x}", "\"field name\" ILIKE 'x'"),
        ("{'a.b': x}", "\"a.b\" ILIKE 'x'"),
        ("{Order: x}", "\"Order\" ILIKE 'x'"),
    ],
)
def test_values_and_modifiers(detection: str, expected: str) -> None:
    assert where(detection) == expected


def test_operators() -> None:
    assert where("{A: a}", "not sel") == "(A ILIKE 'a') IS NOT TRUE"
    assert where("{A: a}\n  b: {B: b}\n  c: {C: c}", "sel and (b or not c)") == (
        "A ILIKE 'a' AND (B ILIKE 'b' OR (C ILIKE 'c') IS NOT TRUE)"
    )
    assert where("{A: a}\n  b: {B: b}", "1 of them") == "A ILIKE 'a' OR B ILIKE 'b'"
    assert where("{A: a}\n  b: {B: b}", "[sel, b]") == "A ILIKE 'a' OR B ILIKE 'b'"


@pytest.mark.parametrize(
    ("detection", "reason"),
    [
        ("{A|re: '(?<!x)y'}", "cannot be matched in linear time"),
        (r"{A|re: '(a)\1'}", "cannot be matched in linear time"),
        ("{A|expand: '%admins%'}", "the placeholder %admins% has no values"),
    ],
)
def test_what_cannot_be_said_is_refused_with_the_reason(detection: str, reason: str) -> None:
    with pytest.raises(SigmaError, match=reason):
        where(detection)


def test_a_pipeline_gives_values_to_placeholders_and_names_to_fields() -> None:
    pipeline = ProcessingPipeline.from_yaml(
        """
        name: mine
        priority: 10
        vars: {admins: [root, adm]}
        transformations:
          - {id: p, type: value_placeholders}
          - {id: f, type: field_name_mapping, mapping: {A: user.name}}
        """
    )
    found = where("{A|expand: '%admins%'}", processing_pipeline=pipeline)
    assert found == "lower(\"user.name\") IN ('root', 'adm')"


def test_the_title_is_the_name_and_the_rest_is_kept() -> None:
    text = """
title: "Über-Long  Title: it's"
id: 5013198f-0d6f-4d3d-9d9a-9f0d2d0b7a11
level: high
status: experimental
tags: [attack.t1059.001, attack.execution]
description: |
  two
  lines
logsource: {product: linux}
detection: {s: {A: a}, condition: s}
"""
    streams, query = CqcBackend().convert(SigmaCollection.from_yaml(text))
    assert query == (
        "-- Über-Long Title: it's\n-- id: 5013198f-0d6f-4d3d-9d9a-9f0d2d0b7a11\n-- level: high\n-- status: experimental\n"
        "-- tags: attack.t1059.001, attack.execution\n-- two lines\n"
        "CREATE QUERY ber_long_title_it_s WITH (title = 'Über-Long Title: it''s', id = '5013198f-0d6f-4d3d-9d9a-9f0d2d0b7a11', "
        "level = 'high', status = 'experimental', tags = 'attack.t1059.001, attack.execution') AS\n"
        "SELECT *\nFROM   linux\nWHERE  A ILIKE 'a';\n"
    )
    assert streams.startswith("CREATE STREAM linux (\n  ts TIMESTAMP,\n  A STRING,\n")
    assert cqc.compile(streams + query).queries.names == ["ber_long_title_it_s"]


def test_equal_titles_are_told_apart_by_the_id() -> None:
    rule = "title: Same\n{}logsource: {{product: x}}\ndetection: {{s: {{A: a}}, condition: s}}\n"
    ids = [
        "id: 5013198f-0d6f-4d3d-9d9a-9f0d2d0b7a11\n",
        "id: 6013198f-0d6f-4d3d-9d9a-9f0d2d0b7a11\n",
    ]
    text = "---\n".join(rule.format(each) for each in [*ids, ""])
    program = "\n".join(CqcBackend().convert(SigmaCollection.from_yaml(text)))
    assert cqc.compile(program).queries.names == ["same_5013198f", "same_6013198f", "same"]


def test_filters_of_a_collection_hold_for_their_rules() -> None:
    text = """
title: Any admin
name: admin
logsource: {product: x, category: y}
detection: {s: {A: a}, condition: s}
---
title: Not from home
logsource: {product: x, category: y}
filter: {rules: [admin], s: {B: home}, condition: not s}
"""
    (_, query) = CqcBackend().convert(SigmaCollection.from_yaml(text))
    assert "WHERE  A ILIKE 'a' AND (B ILIKE 'home') IS NOT TRUE;" in query


def test_pysigma_finds_the_backend() -> None:
    assert InstalledSigmaPlugins.autodiscover().backends["cqc"] is CqcBackend


def test_errors_are_collected_when_asked() -> None:
    bad, good = (
        RULE.format(detection=each, condition="sel") for each in ("{A|re: '(?=x)'}", "{A: x}")
    )
    backend = CqcBackend(collect_errors=True)
    found = backend.convert(SigmaCollection.from_yaml(f"{bad}\n---\n{good}"), "queries")
    assert len(found) == 1
    ((rule, error),) = backend.errors
    assert rule.title == "Test"
    assert "linear time" in str(error)


def test_a_correlation_with_generate_keeps_the_queries_of_its_rules() -> None:
    base = RULE.format(detection="{A: a}", condition="sel") + "name: one\n"
    text = """
title: Many
correlation: {type: event_count, rules: [one], group-by: [User], timespan: 1h, condition: {gte: 5}%s}
"""
    quiet = "\n".join(CqcBackend().convert(SigmaCollection.from_yaml(base + "---" + text % "")))
    loud = "\n".join(
        CqcBackend().convert(SigmaCollection.from_yaml(base + "---" + text % ", generate: true"))
    )
    assert cqc.compile(quiet).queries.names == ["many"]
    assert sorted(cqc.compile(loud).queries.names) == ["many", "test"]
    assert "RANGE BETWEEN 3600 SECONDS PRECEDING AND CURRENT ROW" in quiet


def test_alerts_of_correlations_are_kept_apart_by_their_groups() -> None:
    rules = [
        {
            "title": "Base",
            "name": "base",
            "logsource": {"product": "test"},
            "detection": {"s": {"a": 1}, "condition": "s"},
        },
        {
            "title": "Many",
            "correlation": {
                "type": "event_count",
                "rules": ["base"],
                "group-by": ["User"],
                "timespan": "1m",
                "condition": {"gte": 2},
                "generate": True,
            },
        },
    ]
    program = convert(rules, alerts=True, per=("Computer",))
    assert "FROM   base_matches\nPER    Computer\n" in program
    assert "FROM   many_matches\nPER    User\n" in program
