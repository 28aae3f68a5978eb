"""Stock quotes and news articles: the shared plan beside NiagaraCQ's push-down and pull-up."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

import cqc
from cqc.benchmarks.harness.side_by_side import table
from cqc.benchmarks.harness.strategies import (
    Strategy,
    Timed,
    in_turns,
    line_chart,
    run_once,
    section,
    shown,
)
from cqc.benchmarks.papers.cacq import workload
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.intake.typed_batch import TypedBatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def joins(charts: dict[str, str], *, quick: bool, repeats: int) -> str:
    """Selections and a join: CPU time by number of queries."""
    counts = (1, 10) if quick else (1, 5, 10, 20, 50)
    batches = workload.stock_batches(8 if quick else 15, 1)
    rows = []
    series: dict[str, list[tuple[float, float]]] = {"cqc": [], "push-down": [], "pull-up": []}
    for count in counts:
        limits = [f"price < {100 * (at + 1) / count:g}" for at in range(count)]
        found = plans(limits, batches, repeats)
        rows.append([f"{count}", *(f"{1000 * each.cpu_s:.0f}" for each in found.values())])
        for name, each in found.items():
            series[name].append((float(count), 1000 * each.cpu_s))
    charts["niagara"] = line_chart(
        "Selections and a join, shared", "queries", "CPU ms", series, log_y=True
    )
    return section(
        "## The shared plan beside NiagaraCQ's",
        table(["queries", "cqc, ms", "push-down, ms", "pull-up, ms"], rows),
        shown("niagara"),
        "Push-down: a join of its own for each query, after its selection. Pull-up: one join without selections, whose results go "
        "through a grouped filter. The paper: CACQ is faster than pull-up for few queries and slightly slower for many, because "
        "it maintains state for each tuple; push-down is slower in all cases. Here lineage is a word of bits for 64 queries.",
    )


def plans(
    limits: Sequence[str], batches: Sequence[Mapping[str, TypedBatch]], repeats: int
) -> dict[str, Timed]:
    """The three plans over the same input."""
    program = cqc.compile(workload.STOCKS + workload.stock_queries(limits))
    joining, selecting = (cqc.compile(text) for text in workload.pulled_up(limits))
    return in_turns(
        {
            "cqc": partial(run_once, program, batches, Strategy()),
            "push-down": partial(run_once, program, batches, Strategy(sharing=False)),
            "pull-up": partial(_pull_up, joining, selecting, batches),
        },
        repeats,
    )


def _pull_up(
    joining: cqc.Program,
    selecting: cqc.Program,
    batches: Sequence[Mapping[str, TypedBatch]],
    warm: int = 2,
) -> Timed:
    """Results of one engine are the input of another."""
    join = cqc.Engine(joining, keep_past=False)
    select = cqc.Engine(selecting, collect=False, keep_past=False)
    started = 0.0
    for number, batch in enumerate(batches):
        if number == warm:
            started = time.process_time()
        join.push_typed(batch)
        for blocks in join.drain_blocks():
            times = np.concatenate([block.times_us for block in blocks])
            order = np.argsort(times, kind="stable")
            own = [block.own_columns() for block in blocks]
            values = (np.concatenate([each[at].values for each in own])[order] for at in range(2))
            types = (ColumnType.TIMESTAMP, ColumnType.DOUBLE, ColumnType.BIGINT)
            columns = (
                Column(type_, each)
                for type_, each in zip(types, (times[order], *values), strict=True)
            )
            select.push_typed({"joined": TypedBatch(tuple(columns), times[order], len(times))})
    seconds = time.process_time() - started
    return Timed(seconds, sum(select.result_counts().values()))


def functions(charts: dict[str, str], *, quick: bool, repeats: int) -> str:
    """Functions as selections, by articles a quote."""
    fan_outs = (1, 4) if quick else (1, 2, 4, 8, 16)
    limits = [f"worth(price + {at}) < {20 + at}" for at in range(10)]
    rows = []
    series: dict[str, list[tuple[float, float]]] = {"cqc": [], "pull-up": []}
    for fan_out in fan_outs:
        batches = workload.stock_batches(6 if quick else 8, fan_out)
        found = plans(limits, batches, repeats)
        rows.append([f"{fan_out}", *(f"{1000 * found[name].cpu_s:.0f}" for name in series),
                     f"{found['pull-up'].cpu_s / found['cqc'].cpu_s:.1f}x"])  # fmt: skip
        for name, points in series.items():
            points.append((float(fan_out), 1000 * found[name].cpu_s))
    charts["functions"] = line_chart(
        "Functions as selections", "articles a quote", "CPU ms", series, log_y=True
    )
    return section(
        "## Functions as selections, with growing fan-out",
        table(["articles a quote", "cqc, ms", "pull-up, ms", "ratio"], rows),
        shown("functions"),
        "The paper: pull-up evaluates the functions on joined tuples, so its cost grows with the articles a quote; CACQ "
        "evaluates them on quotes. The same here.",
    )
