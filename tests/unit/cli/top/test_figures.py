"""Figures of a service, and rates between two looks at it."""

from __future__ import annotations

from typing import Any

from cqc.cli.top.figures import make_figures, parse_metrics

PAGE = r"""
# HELP cqc_rows_read_total Rows that arrived.
cqc_rows_read_total{stream="s"} 100
cqc_rows_read_total{stream="a \"b\"\\n"} 1
cqc_state_bytes{stream="s"} 2048
cqc_operator_bytes 1024
cqc_results_total 50
cqc_uptime_seconds 12.5
cqc_invocation_seconds_bucket{le="0.001"} 0
"""


def query(name: str, results: int, cost: float, **more: Any) -> dict[str, Any]:
    given = {"name": name, "kind": "push", "owner": "me", "text": "SELECT 1", "results": results}
    return {**given, "cost_seconds": cost, **more}


def test_samples_are_by_metric_and_label() -> None:
    found = parse_metrics(PAGE)
    assert found["cqc_rows_read_total"] == {"s": 100.0, 'a "b"\\n': 1.0}
    assert found["cqc_results_total"] == {"": 50.0}


def test_rates_are_of_the_time_between_two_looks() -> None:
    health = {"status": "ok", "tuples": 100}
    first = make_figures(health, parse_metrics(PAGE), [query("q", 5, 0.5)], 10.0, None)
    assert (first.rows_a_second, first.queries[0].busy) == (0.0, 0.0)
    assert first.kept_bytes == 3072
    later = PAGE.replace("} 100", "} 140").replace("total 50", "total 60")
    now = make_figures(
        {**health, "tuples": 140}, parse_metrics(later), [query("q", 9, 0.6)], 14.0, first
    )
    assert (now.rows_a_second, now.results_a_second) == (10.0, 2.5)
    assert now.streams[0].rows_a_second == 10.0
    assert round(now.queries[0].busy, 6) == 0.025
    assert now.queries[0].results_a_second == 1.0


def test_a_service_that_began_anew_has_no_negative_rates() -> None:
    health = {"status": "ok", "tuples": 100}
    first = make_figures(health, parse_metrics(PAGE), [query("q", 5, 0.5)], 10.0, None)
    now = make_figures({**health, "tuples": 0}, {}, [query("new", 0, 0.0)], 12.0, first)
    assert now.rows_a_second == 0.0
    assert now.queries[0].results_a_second == 0.0
