"""CACQ's experiments: `cqc bench cacq`.

Throughput by queries and by sources, shared and with an engine a query; filters visited per tuple under each routing policy;
tickets as queries arrive; the shared plan beside NiagaraCQ's push-down and pull-up; functions as selections with growing
fan-out; and a workload that changes. CPU time of this process, settings in turns.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import cqc
from cqc.benchmarks.harness.side_by_side import table
from cqc.benchmarks.harness.strategies import (
    Strategy,
    Timed,
    in_turns,
    line_chart,
    program_of,
    record,
    run_once,
    section,
    shown,
    tuples_in,
)
from cqc.benchmarks.papers.cacq import routing, stocks, workload
from cqc.runtime.metrics.operators import FilterMetrics

_ROUTINGS = ("selectivity", "lottery", "random", "fixed")


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them, with plots, beside this file."""
    workload.slow_condition()
    repeats = 1 if quick else 3
    charts: dict[str, str] = {}
    _warm_up()
    sections = [
        _by_queries(charts, quick=quick, repeats=repeats),
        _by_sources(charts, quick=quick, repeats=repeats),
        _visits(quick=quick),
        _tickets(charts, quick=quick),
        stocks.joins(charts, quick=quick, repeats=repeats),
        stocks.functions(charts, quick=quick, repeats=repeats),
        routing.routing_time(quick=quick, repeats=repeats),
        routing.changing(charts, quick=quick, repeats=repeats),
    ]
    return record(
        Path(__file__).parent,
        "# CACQ's experiments\n\n`cqc bench cacq`",
        sections,
        charts,
        quick=quick,
    )


def _warm_up() -> None:
    """Load the kernels, so that the first setting does not pay for all."""
    batches = workload.field_batches(3)
    program = program_of(
        workload.source(), [*workload.nested_queries(), *workload.random_queries(20)]
    )
    for policy in _ROUTINGS:
        run_once(program, batches, Strategy(routing=policy))
    limits = [f"price < {limit}" for limit in range(10, 100, 10)]
    stocks.plans(limits, workload.stock_batches(3, 2), 1)


def _rate(found: Timed, tuples: int) -> str:
    return f"{tuples / found.cpu_s:,.0f}"


def _by_queries(charts: dict[str, str], *, quick: bool, repeats: int) -> str:
    counts = (1, 10, 100) if quick else (1, 5, 20, 50, 100, 250, 500)
    batches = workload.field_batches(6 if quick else 12)
    rows = []
    series: dict[str, list[tuple[float, float]]] = {"shared": [], "one plan a query": []}
    for count in counts:
        program = program_of(workload.source(), workload.random_queries(count))
        found = in_turns(
            {
                "shared": partial(run_once, program, batches, Strategy()),
                "one plan a query": partial(run_once, program, batches, Strategy(sharing=False)),
            },
            repeats,
        )
        tuples = tuples_in(batches)
        rows.append([f"{count}", *(_rate(each, tuples) for each in found.values()),
                     f"{found['one plan a query'].cpu_s / found['shared'].cpu_s:.1f}x"])  # fmt: skip
        for name, each in found.items():
            series[name].append((float(count), tuples / each.cpu_s))
    charts["queries"] = line_chart(
        "Throughput by number of queries", "queries", "tuples per CPU-second", series, log_x=True, log_y=True
    )  # fmt: skip
    return section(
        "## Throughput by number of queries",
        table(["queries", "shared, tuples/s", "one plan a query, tuples/s", "ratio"], rows),
        shown("queries"),
        "The paper: the shared engine goes on scaling where one eddy a query reaches its maximum early, at half the throughput "
        "or less. The same here, and the gap goes on growing, because a grouped filter is one pass over a packet for all "
        "queries.",
    )


def _by_sources(charts: dict[str, str], *, quick: bool, repeats: int) -> str:
    counts = (1, 4) if quick else (1, 2, 4, 8, 16)
    rows, points = [], []
    for count in counts:
        names = [f"S{at}" for at in range(count)]
        batches = workload.field_batches(16 // count + 2, names)
        program = program_of(workload.source(names), workload.random_queries(200, names))
        found = in_turns({"shared": partial(run_once, program, batches, Strategy())}, repeats)
        tuples = tuples_in(batches)
        rows.append([f"{count}", _rate(found["shared"], tuples)])
        points.append((float(count), tuples / found["shared"].cpu_s))
    charts["sources"] = line_chart(
        "Throughput by number of sources, 200 queries", "sources", "tuples per CPU-second", {"shared": points}
    )  # fmt: skip
    return section(
        "## Throughput by number of sources",
        table(["sources", "tuples/s"], rows),
        shown("sources"),
        "The paper: throughput falls somewhat with more sources, because filters are made for each. Here 200 queries are "
        "divided among the sources, each filter has fewer of them, and throughput rises.",
    )


def _visits(*, quick: bool) -> str:
    batches = workload.field_batches(10 if quick else 60, batch=1024)
    program = program_of(workload.source(), workload.nested_queries())
    shares = (0.09, 0.29, 0.49, 0.69)  # of values above each limit
    optimal, passed = 0.0, 1.0
    for share in (*shares, 0.0):
        optimal += passed
        passed *= share
    rows = [["optimal (worked out)", f"{optimal:.2f}"]]
    for policy, name in (
        ("fixed", "fixed, best order"),
        ("lottery", "lottery"),
        ("random", "random"),
    ):
        found = run_once(program, batches, Strategy(routing=policy), warm=0)
        rows.append([name, f"{found.visits / tuples_in(batches, 0):.2f}"])
    rows.append(["worst (every filter)", "5.00"])
    return section(
        "## Filters visited per tuple",
        table(["routing", "filters"], rows),
        "The paper: tickets route an average tuple through just a few filters, near the optimum, and random routing through "
        "considerably more. The same here. `selectivity` is not in this table: it does without gates where a filter costs less "
        "than the gate, as comparisons of whole numbers do (2 ns); see the time below.",
    )


def _tickets(charts: dict[str, str], *, quick: bool) -> str:
    every = 5 if quick else 20
    parts = ["## Tickets as queries arrive"]
    for title, conditions in workload.WORKLOADS.items():
        engine = cqc.Engine(
            cqc.compile(workload.source()), strategy=Strategy(routing="lottery"), collect=False, keep_past=False
        )  # fmt: skip
        series: dict[str, list[tuple[float, float]]] = {
            f"filter {field}": [] for field in workload.FIELDS
        }
        for number, batch in enumerate(workload.field_batches(every * len(conditions), batch=1024)):
            if number % every == 0:
                engine.register(f"SELECT ts FROM S WHERE {conditions[number // every]}")
            engine.push_typed(batch)
            filters = next(each for each in engine.measure() if isinstance(each, FilterMetrics))
            held_by = {visit.name: visit.tickets or 0 for visit in filters.visits}
            tickets = {field: max(0, held_by.get(field, 0)) for field in workload.FIELDS}
            total = sum(tickets.values()) or 1
            for field, held in tickets.items():
                series[f"filter {field}"].append((float(number), 100 * held / total))
        name = f"tickets-{title[0]}"
        charts[name] = line_chart(
            f"Workload {title}", "packets of 1,024 tuples", "% of tickets", series
        )
        settled = ", ".join(
            f"{label[-1]} {points[-1][1]:.0f}%"
            for label, points in series.items()
            if points[-1][1] >= 0.5
        )
        queries = "; ".join(conditions)
        parts += [
            f"Workload {title} ({queries}), a query every {every} packets. At the end: {settled}.",
            shown(name),
        ]
    parts.append(
        "The paper: a filter's share of the tickets reaches its steady state within seconds of its query's arrival, and "
        "selective filters that serve many queries hold most. Here within a few packets: tickets decay by a tenth a packet."
    )
    return "\n\n".join(parts)
