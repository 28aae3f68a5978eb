"""Results as notebooks show them."""

from __future__ import annotations

import cqc

PROGRAM = (
    """CREATE STREAM s (ts BIGINT, x BIGINT, t STRING); CREATE QUERY "<b>" AS SELECT x, t FROM s;"""
)


def pushed(count: int) -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    engine.push("s", [{"ts": x, "x": x, "t": "<script>"} for x in range(count)])
    return engine


def test_results_are_shown_as_a_table_with_every_text_escaped() -> None:
    shown = pushed(2).drain()._repr_html_()
    assert "<th>x</th>" in shown
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert shown.count("<tr>") == 3


def test_what_is_shown_is_given_and_the_rest_waits_for_the_next_drain() -> None:
    engine = pushed(60)
    drained = engine.drain()
    assert "The next drain gives the rest" in drained._repr_html_()
    assert drained._repr_html_() == drained._repr_html_()
    assert [result.row["x"] for result in engine.drain()] == list(range(50, 60))


def test_no_results_are_said_to_be_none() -> None:
    assert pushed(0).drain()._repr_html_() == "<p>No results.</p>"
