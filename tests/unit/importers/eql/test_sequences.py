"""Sequences as joins, and what cannot be said of them; `tests/property/test_eql.py` has what they find."""

from __future__ import annotations

from pathlib import Path

import pytest

import cqc
from cqc.importers.eql.parse import EqlError, parse
from cqc.importers.eql.rule_set import Converter, Options
from cqc.importers.eql.rule_texts import RuleText


def said(query: str, **options: object) -> str:
    converter = Converter(Options(**options))  # type: ignore[arg-type]
    rule = RuleText(query, {"title": "Q"}, "", Path("q.eql"))
    [parsed] = parse(query)
    made = converter.statements("q", rule, parsed)
    program = converter.streams.declarations + made
    cqc.compile(program)
    return made


def test_a_sequence_is_a_join_in_order() -> None:
    made = said('sequence by k with maxspan=5m [any where a == "1"] [any where b == "2"]')
    assert made.endswith(
        "SELECT e1.k AS k, e1.ts AS ts_1, e1.a AS a_1, e2.ts AS ts_2, e2.b AS b_2\n"
        "FROM   events AS e1, events AS e2\n"
        "WHERE  e1.a = '1'\n  AND  e2.b = '2'\n  AND  e1.k = e2.k\n"
        "WINDOW e1.ts < e2.ts\nMAXWINDOW 5 MINUTES;\n"
    )
    assert "-- Here every sequence of events is reported" in made


def test_without_maxspan_events_are_kept_for_ever_and_that_is_written() -> None:
    made = said("sequence by ?k [a where true] [b where true]")
    assert "e1.k <=> e2.k" in made
    assert "MAXWINDOW UNBOUNDED" in made
    assert "-- It has no maxspan: events are kept for ever.\n" in made


def test_a_run_is_a_view_that_knows_when_it_began() -> None:
    made = said("sequence by k with maxspan=1m [any where true] with runs=3 [any where x == 1]")
    assert "LAG(ts, 2) OVER (PARTITION BY k ORDER BY ts) AS _began" in made
    assert "e2.ts - e1._began <= 1 MINUTE" in made


@pytest.mark.parametrize(
    ("query", "window"),
    [
        (
            "sequence with maxspan=9s ![any where x == 1] [any where true]",
            "u.ts >= e1.ts - 9 SECONDS AND u.ts < e1.ts",
        ),
        (
            "sequence with maxspan=9s [any where true] ![any where x == 1]",
            "u.ts > e1.ts AND u.ts <= e1.ts + 9 SECONDS",
        ),
        (
            "sequence with maxspan=9s [any where true] ![any where x == 1] [any where true]",
            "u.ts > e1.ts AND u.ts < e2.ts",
        ),
        (
            "sequence with maxspan=9s [any where true] [any where true] until [any where x == 1]",
            "u.ts > e1.ts AND u.ts < e2.ts",
        ),
    ],
)
def test_what_must_not_come_is_absent(query: str, window: str) -> None:
    assert f"NOT EXISTS (SELECT 1 FROM events AS u WHERE u.x = '1' WINDOW {window})" in said(query)


def test_a_category_of_its_own_stream_needs_no_condition(tmp_path: Path) -> None:
    mapping = tmp_path / "mine.yml"
    mapping.write_text("- logsource: {category: process}\n  stream: processes\n")
    query = "sequence by k with maxspan=1m [process where x == 1] [file where true]"
    made = said(query, mapping=(str(mapping),))
    assert "FROM   processes AS e1, events AS e2" in made
    assert 'e1."event.category"' not in made


def test_alerts_are_kept_apart_by_keys() -> None:
    query = "sequence by k with maxspan=1m [a where x == 1] [b where true]"
    assert "PER    k\n" in said(query, alerts=True, per=("k",))
    with pytest.raises(EqlError, match="have no x in common"):
        said(query, alerts=True, per=("x",))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("sequence by k [a where true]", "a sequence needs two events"),
        ("sequence with maxspan=1s ![a where true]", "needs an event that comes"),
        ("sequence [a where true] by k [b where true]", "different numbers of keys"),
        ("sequence [a where true] ![b where true]", "needs maxspan"),
        ("sequence [a where true] [b where true] until [c where true]", "needs maxspan"),
        (
            "sequence with maxspan=1s [a where true] with runs=2 until [b where true]",
            "until with a sequence that begins with runs cannot be said",
        ),
    ],
)
def test_what_cannot_be_said_has_a_reason(query: str, reason: str) -> None:
    with pytest.raises(EqlError, match=reason):
        said(query)
