"""One screen of `cqc top`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cqc.cli.top.figures import (
    AlertFigures,
    Figures,
    QueryFigures,
    SinkFigures,
    StreamFigures,
)
from cqc.cli.top.page import View, chosen, page, size, span

QUERIES = (
    QueryFigures("alpha", "push", "me", "SELECT a FROM s", 10, 0.5, 0, "", 1.0, 0.1),
    QueryFigures("beta", "every", "you", "SELECT b FROM s", 30, 0.2, 2048, "", 3.0, 0.2),
    QueryFigures(
        "gamma", "stopped", "you", "SELECT c FROM s", 0, 0.9, 0, "it found too much", 0.0, 0.0
    ),
)
FIGURES = Figures(
    0.0,
    "ok",
    90.0,
    1000,
    40,
    4096,
    1,
    0,
    ("s: file gone",),
    (StreamFigures("s", 1000, 1, 2, 0, 9, 99),),
    QUERIES,
)


@pytest.mark.parametrize(
    ("sort", "first"), [("c", "gamma"), ("b", "beta"), ("r", "beta"), ("k", "beta"), ("n", "alpha")]
)
def test_queries_are_sorted_by_a_figure(sort: str, first: str) -> None:
    assert chosen(FIGURES, View(sort=sort))[0].name == first


@pytest.mark.parametrize(
    ("text", "names"), [("BET", ["beta"]), ("you", ["beta", "gamma"]), ("zz", [])]
)
def test_the_filter_looks_at_name_owner_and_text(text: str, names: list[str]) -> None:
    assert [each.name for each in chosen(FIGURES, View(sort="n", filter=text))] == names


def test_a_screen_is_no_wider_and_no_higher_than_asked() -> None:
    many = tuple(replace(QUERIES[0], name=f"query_{at:03}", text="x" * 300) for at in range(500))
    lines = page(replace(FIGURES, queries=many), View(sort="n", first=490), 80, 24)
    assert len(lines) <= 23
    assert max(map(len, lines)) <= 80
    assert "query_499" in "\n".join(lines)  # never beyond the end
    assert lines[-1].endswith("of 500 queries by query")


def test_a_screen_shows_what_is_wrong_and_why_a_query_was_stopped() -> None:
    text = "\n".join(page(FIGURES, View(paused=True, filter=""), 200, 40, "http://x"))
    assert "PAUSED" in text
    assert "! s: file gone" in text
    assert "it found too much" in text


def test_names_cannot_move_the_cursor() -> None:
    hostile = replace(QUERIES[0], name="a\x1b[2Jb\nc", text="\x07")
    lines = page(replace(FIGURES, queries=(hostile,)), View(), 200, 40)
    assert all(line.isprintable() for line in lines)


def test_numbers_have_units() -> None:
    assert [size(5), size(2048), size(3 << 20), size(5 << 30)] == [
        "5 B",
        "2.0 KB",
        "3.0 MB",
        "5.0 GB",
    ]
    assert [span(5), span(90), span(7200), span(172_800)] == ["5 s", "1.5 min", "2.0 h", "2.0 d"]


def test_alerts_that_fire_and_sinks_that_fail_come_first() -> None:
    alerts = tuple(AlertFigures(f"alert_{at}", "high" if at else "", at, 0, at) for at in range(8))
    sinks = (
        SinkFigures("archive", "file", "ok", 9, 0, 0, 0, ""),
        SinkFigures("pager", "webhook", "failing", 1, 2, 2048, 3, "no\nanswer"),
    )
    lines = page(replace(FIGURES, alerts=alerts, sinks=sinks), View(), 200, 60)
    assert "8 alerts: 28 firing (28 high), 0 pending" in lines
    lines = page(replace(FIGURES, alerts=alerts[:1]), View(), 200, 60)
    assert "1 alert: 0 firing, 0 pending" in lines
    lines = page(replace(FIGURES, alerts=alerts, sinks=sinks), View(), 200, 60)
    shown = [line.split()[0] for line in lines if line.startswith(("alert_", "pager", "archive"))]
    assert shown == ["alert_7", "alert_6", "alert_5", "alert_4", "alert_3", "pager", "archive"]
    assert "... and 2 more alerts" in lines
    assert any(line.endswith("no answer") for line in lines)
