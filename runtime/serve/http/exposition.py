"""Counters in Prometheus' text format.

Labels are declared streams, registered functions, fixed words, and the few queries with most of something: never all queries, of which
there may be a hundred thousand, and never clients.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from typing import TYPE_CHECKING

from cqc.runtime.serve.views.overview import lag_seconds, memory_bytes, watermark_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cqc.runtime.receivers.sender import SinkStatus
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.query_table import QueryRow, QueryTable

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
TOP = 10  # queries that are told apart
_LONGEST_LABEL = 200
_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Histogram:
    """How long things took, by fixed bounds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS_S) + 1)
        self._seconds = 0.0

    def observe(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS_S, seconds)] += 1
        self._seconds += seconds

    def lines(self, name: str) -> list[str]:
        """The lines of one metric."""
        found, total = [], 0
        for bound, count in zip((*_BOUNDS_S, "+Inf"), self._counts, strict=True):
            total += count
            found.append(f'{name}_bucket{{le="{bound}"}} {total}')
        return [*found, f"{name}_sum {self._seconds:.6f}", f"{name}_count {total}"]


def engine_lines(service: Service) -> list[str]:
    """What the engine's thread knows."""
    measured = service.engine.metrics()
    counts = measured.streams
    lines: list[str] = []
    for kind, help_ in (
        ("read", "Rows that arrived."),
        ("late", "Rows below the watermark."),
        ("rejected", "Rows that did not fit their declaration."),
    ):
        labelled = {_label("stream", name): getattr(count, kind) for name, count in counts.items()}
        lines += metric(f"cqc_rows_{kind}_total", "counter", help_, labelled)
    waiting = {_label("stream", name): count.waiting for name, count in counts.items()}
    lines += metric("cqc_rows_waiting", "gauge", "Rows far ahead of their stream.", waiting)
    rows = {_label("stream", each.name): each.tuples for each in measured.states}
    lines += metric("cqc_state_rows", "gauge", "Tuples that are kept.", rows)
    size = {_label("stream", each.name): each.bytes for each in measured.states}
    lines += metric("cqc_state_bytes", "gauge", "Of tuples and what is derived from them.", size)
    lines += _watermark_lines(service)
    operators = sum(each.bytes for each in measured.operators)
    lines += metric("cqc_operator_bytes", "gauge", "Of joins and kept results.", operators)
    kinds = {"push": 0, "pull": 0, "every": 0}
    for entry in service.registry:
        kinds[entry.kind] += 1
    by_kind = {_label("kind", kind): number for kind, number in kinds.items()}
    lines += metric("cqc_queries", "gauge", "Registered queries.", by_kind)
    lines += metric("cqc_invocations_total", "counter", "Answers given.", service.invocations)
    lines += metric("cqc_memory_bytes", "gauge", "Of the whole process.", memory_bytes())
    busy = round(service.busy_seconds, 6)
    lines += metric("cqc_engine_busy_seconds_total", "counter", "Work on micro-batches.", busy)
    delivered = service.results.next_number - 1
    lines += metric("cqc_results_total", "counter", "Results delivered to watchers.", delivered)
    lines += metric(
        "cqc_kept_result_bytes", "gauge", "Results kept for watchers.", service.results.size
    )
    failed = measured.failed_evaluations
    lines += metric("cqc_failed_evaluations_total", "counter", "Gave NULL.", failed)
    faults = service.engine.faults.of
    by_function = {_label("function", name): each.failed for name, each in faults.items()}
    help_ = "Evaluations of registered functions that failed and gave NULL."
    return lines + metric("cqc_function_failures_total", "counter", help_, by_function)


def _watermark_lines(service: Service) -> list[str]:
    """How far each stream is; only those whose event time is an instant can be compared with a clock."""
    now = time.time()
    lags: dict[str, float] = {}
    marks: dict[str, float] = {}
    for line in service.engine.lines.values():
        label, mark = _label("stream", line.relation.name), watermark_of(line)
        if mark is not None:
            marks[label] = mark / 1_000_000
        lag = lag_seconds(line, now)
        if lag is not None:
            lags[label] = round(lag, 3)
    return [
        *metric("cqc_watermark_seconds", "gauge", "Event time, as seconds since 1970.", marks),
        *metric("cqc_watermark_lag_seconds", "gauge", "Behind the clock of the machine.", lags),
    ]


def query_lines(table: QueryTable) -> list[str]:
    """The few queries with most cost, results and memory, and what all cost together and would cost alone."""
    lines: list[str] = []
    for name, kind, help_, sort, value in (
        ("cqc_top_query_cost_seconds", "gauge", "Queries that cost most.", "cost", _cost),
        ("cqc_top_query_results", "gauge", "Queries with most results.", "results", _results),
        ("cqc_top_query_kept_bytes", "gauge", "Queries that keep most.", "kept", _kept),
    ):
        values = {_label("query", row.entry.name): value(row) for row in table.top(sort, TOP)}
        lines += metric(name, kind, help_, values)
    cost, alone = round(table.cost_seconds, 6), round(table.alone_seconds, 6)
    lines += metric("cqc_queries_cost_seconds", "gauge", "Of all queries together.", cost)
    help_ = "What they would have cost one by one (those that were measured)."
    return lines + metric("cqc_queries_alone_seconds", "gauge", help_, alone)


def _cost(row: QueryRow) -> float:
    return round(row.cost_seconds, 6)


def _results(row: QueryRow) -> float:
    return row.entry.results


def _kept(row: QueryRow) -> float:
    return row.kept_bytes


def sink_lines(sinks: Iterable[SinkStatus]) -> list[str]:
    """What the sinks of the program have sent, and what waits for them."""
    found = list(sinks)
    if not found:
        return []

    def by_sink(value: Callable[[SinkStatus], float]) -> dict[str, float]:
        return {_label("sink", each.name): value(each) for each in found}

    return [
        *metric(
            "cqc_sink_sent_total",
            "counter",
            "Results that were taken.",
            by_sink(lambda each: each.sent),
        ),
        *metric(
            "cqc_sink_waiting", "gauge", "Results in the spool.", by_sink(lambda each: each.waiting)
        ),
        *metric(
            "cqc_sink_waiting_bytes",
            "gauge",
            "Their bytes.",
            by_sink(lambda each: each.waiting_bytes),
        ),
        *metric(
            "cqc_sink_failures_total",
            "counter",
            "Attempts that failed.",
            by_sink(lambda each: each.failures),
        ),
        *metric(
            "cqc_sink_dead_letters_total",
            "counter",
            "Results refused.",
            by_sink(lambda each: each.dead),
        ),
        *metric(
            "cqc_sink_dropped_total",
            "counter",
            "Given up in a full spool.",
            by_sink(lambda each: each.dropped),
        ),
    ]


def metric(name: str, kind: str, help_: str, values: float | Mapping[str, float]) -> list[str]:
    """The lines of one metric; `values` by label, or a single one."""
    entries = values.items() if not isinstance(values, int | float) else [("", values)]
    return [
        f"# HELP {name} {help_}",
        f"# TYPE {name} {kind}",
        *(f"{name}{label} {value}" for label, value in entries),
    ]


def text_of(lines: Iterable[str]) -> str:
    """The page."""
    return "\n".join(lines) + "\n"


def _label(key: str, value: str) -> str:
    return labels({key: value})


def labels(values: Mapping[str, str]) -> str:
    """Labels as they stand after the name of a metric."""
    shown = [f'{key}="{_escaped(value)}"' for key, value in values.items()]
    return f"{{{','.join(shown)}}}"


def _escaped(value: str) -> str:
    return value[:_LONGEST_LABEL].replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
