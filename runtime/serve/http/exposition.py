"""Counters in Prometheus' text format. Labels are declared streams, registered functions and fixed words, never queries or clients."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cqc.runtime.serve.service import Service

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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
    operators = sum(each.bytes for each in measured.operators)
    lines += metric("cqc_operator_bytes", "gauge", "Of joins and kept results.", operators)
    kinds = {"push": 0, "pull": 0, "every": 0}
    for entry in service.registry:
        kinds[entry.kind] += 1
    by_kind = {_label("kind", kind): number for kind, number in kinds.items()}
    lines += metric("cqc_queries", "gauge", "Registered queries.", by_kind)
    lines += metric("cqc_invocations_total", "counter", "Answers given.", service.invocations)
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
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'{{{key}="{escaped}"}}'
