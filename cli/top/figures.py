"""The figures of a service at one moment, from what it tells everybody: `/health`, `/metrics`, `/queries`, `/alerts` and `/sinks`.

Rates are differences between two such moments, so the service does nothing for them.
"""

from __future__ import annotations

import re
import time
import urllib.parse
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.cli.service_connection import Connection

MOST_QUERIES = 1_000  # what a service gives at once
_LINE = re.compile(r'^(\w+)(?:\{\w+="((?:[^"\\]|\\.)*)"\})? (\S+)$')
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """One stream or table."""

    name: str
    rows: int
    late: int
    rejected: int
    waiting: int
    kept_rows: int
    kept_bytes: int
    rows_a_second: float = 0.0
    lag_seconds: float | None = None  # how far its watermark is behind the clock


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """One query."""

    name: str
    kind: str
    owner: str
    text: str
    results: int
    cost_seconds: float
    kept_bytes: int
    stopped: str
    results_a_second: float = 0.0
    busy: float = 0.0  # of each second, since the last look, what was spent on it
    shared_with: int | None = None
    alone_seconds: float | None = None  # an estimate of what it would have cost alone


@dataclass(frozen=True, slots=True)
class AlertFigures:
    """One alert."""

    name: str
    severity: str
    firing: int  # keys
    pending: int
    results: int


@dataclass(frozen=True, slots=True)
class SinkFigures:
    """One sink."""

    name: str
    type: str
    state: str
    sent: int
    waiting: int
    waiting_bytes: int
    dead: int
    last_error: str


@dataclass(frozen=True, slots=True)
class Figures:
    """A service at one moment."""

    taken: float
    status: str
    uptime_seconds: float
    tuples: int
    results: int
    kept_bytes: int
    watchers: int
    waiting: int
    problems: tuple[str, ...]
    streams: tuple[StreamFigures, ...]
    queries: tuple[QueryFigures, ...]  # those that were asked for
    all_queries: int = 0
    rows_a_second: float = 0.0
    results_a_second: float = 0.0
    metrics: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    alerts: tuple[AlertFigures, ...] = ()
    sinks: tuple[SinkFigures, ...] = ()


def read_figures(
    connection: Connection, before: Figures | None = None, *, sort: str = "cost", search: str = ""
) -> Figures:
    """The figures now, with rates since `before`; of very many queries the first by `sort` that hold `search`.

    Raises:
        ServiceError: when the service cannot be reached, or refuses.
    """
    health = connection.send("GET", "/health")
    metrics = parse_metrics(connection.read_text("/metrics"))
    asked = urllib.parse.urlencode(
        {
            "limit": MOST_QUERIES,
            "sort": sort,
            "descending": str(sort != "name").lower(),
            "search": search,
        }
    )
    queries = connection.send("GET", f"/queries?{asked}")["queries"]
    alerts = connection.send("GET", "/alerts?most=0")["alerts"]
    sinks = connection.send("GET", "/sinks")["sinks"]
    found = make_figures(health, metrics, queries, time.monotonic(), before)
    return replace(found, alerts=tuple(map(_alert, alerts)), sinks=tuple(map(_sink, sinks)))


def _alert(told: Mapping[str, Any]) -> AlertFigures:
    counts = told["firing"], told["pending"], told["results"]
    return AlertFigures(told["name"], told["severity"] or "", *counts)


def _sink(told: Mapping[str, Any]) -> SinkFigures:
    return SinkFigures(
        told["name"],
        told["type"],
        "failing" if told["is_failing"] else "ok",
        told["sent"],
        told["waiting"],
        told["waiting_bytes"],
        told["dead"],
        told["last_error"] or "",
    )


def make_figures(
    health: Mapping[str, Any],
    metrics: Mapping[str, Mapping[str, float]],
    queries: list[dict[str, Any]],
    taken: float,
    before: Figures | None,
) -> Figures:
    """The same from what the service answered."""
    seconds = taken - before.taken if before is not None else 0.0

    def rate(now: float, then: float | None) -> float:
        return max(now - then, 0.0) / seconds if then is not None and seconds > 0 else 0.0

    old_streams = {each.name: each.rows for each in before.streams} if before else {}
    old_queries = {each.name: each for each in before.queries} if before else {}
    streams = tuple(
        _stream(name, metrics, rate(rows, old_streams.get(name)))
        for name, rows in metrics.get("cqc_rows_read_total", {}).items()
    )
    found = []
    for each in queries:
        old = old_queries.get(each["name"])
        found.append(
            QueryFigures(
                each["name"],
                "stopped" if each.get("stopped") else each["kind"],
                each["owner"],
                each["text"],
                each["results"],
                each["cost_seconds"],
                each.get("kept_bytes", 0),
                each.get("stopped") or "",
                rate(each["results"], None if old is None else old.results),
                rate(each["cost_seconds"], None if old is None else old.cost_seconds),
                each.get("shared_with"),
                each.get("alone_seconds"),
            )
        )
    tuples, results = health["tuples"], int(_one(metrics, "cqc_results_total"))
    return Figures(
        taken,
        health["status"],
        _one(metrics, "cqc_uptime_seconds"),
        tuples,
        results,
        int(_sum(metrics, "cqc_state_bytes") + _one(metrics, "cqc_operator_bytes")),
        int(_one(metrics, "cqc_watchers")),
        int(_one(metrics, "cqc_requests_waiting")),
        tuple(health.get("problems", ())),
        streams,
        tuple(found),
        health.get("queries", len(found)),
        rate(tuples, before.tuples if before else None),
        rate(results, before.results if before else None),
        metrics,
    )


def _stream(name: str, metrics: Mapping[str, Mapping[str, float]], rate: float) -> StreamFigures:
    def of(metric: str) -> int:
        return int(metrics.get(metric, {}).get(name, 0))

    return StreamFigures(
        name,
        of("cqc_rows_read_total"),
        of("cqc_rows_late_total"),
        of("cqc_rows_rejected_total"),
        of("cqc_rows_waiting"),
        of("cqc_state_rows"),
        of("cqc_state_bytes"),
        rate,
        metrics.get("cqc_watermark_lag_seconds", {}).get(name),
    )


def parse_metrics(text: str) -> dict[str, dict[str, float]]:
    """The samples of a page of counters, by metric and by the value of their one label (without one: an empty text)."""
    found: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is not None:
            label = re.sub(r'\\[\\"n]', lambda each: _ESCAPES[each[0]], match[2] or "")
            found.setdefault(match[1], {})[label] = float(match[3])
    return found


def _one(metrics: Mapping[str, Mapping[str, float]], name: str) -> float:
    return metrics.get(name, {}).get("", 0.0)


def _sum(metrics: Mapping[str, Mapping[str, float]], name: str) -> float:
    return sum(metrics.get(name, {}).values())
