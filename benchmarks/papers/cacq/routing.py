"""Routing policies in CPU time: beside fixed orders, and when selectivities change."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import cqc
from cqc.benchmarks.harness.side_by_side import table
from cqc.benchmarks.harness.strategies import (
    Strategy,
    in_turns,
    line_chart,
    program_of,
    run_once,
    section,
    shown,
    tuples_in,
    verdict,
)
from cqc.benchmarks.papers.cacq import workload
from cqc.runtime.metrics.operators import FilterMetrics

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.intake.typed_batch import TypedBatch


def routing_time(*, quick: bool, repeats: int) -> str:
    """CPU time of each policy beside the best and the worst fixed order."""
    batches = workload.field_batches(8 if quick else 80)
    turned = workload.turned(batches)
    # Fixed is by the order of the expressions; the same conditions on turned fields are asked the other way round.
    good = program_of(workload.source(), [f"SELECT ts FROM S WHERE {_conditions('abcde')}"])
    bad = program_of(workload.source(), [f"SELECT ts FROM S WHERE {_conditions('edcba')}"])
    settings = {
        routing: partial(run_once, bad, turned, Strategy(routing=routing))
        for routing in ("selectivity", "lottery", "random")
    }
    settings["best order, fixed"] = partial(run_once, good, batches, Strategy(routing="fixed"))
    settings["worst order, fixed"] = partial(run_once, bad, turned, Strategy(routing="fixed"))
    found = in_turns(settings, 2 * repeats - 1)
    rows = [
        [name, f"{1000 * each.cpu_s:.0f}", f"{each.visits / tuples_in(batches, 0):.2f}"]
        for name, each in found.items()
    ]
    overhead = found["selectivity"].cpu_s / found["best order, fixed"].cpu_s - 1
    cheap = _cheap_overhead(quick=quick, repeats=repeats)
    return section(
        "## Time of the routing policies",
        table(["routing", "CPU ms", "filters a tuple"], rows),
        verdict(
            found, "selectivity", ["best order, fixed", "worst order, fixed", "lottery", "random"]
        ),
        "Five functions of equal cost that let 5, 50, 95, 95 and 95 percent through. `selectivity` beside the best fixed order, samples "
        f"and gates included: {100 * overhead:+.1f}% CPU{_noise(overhead)}. {cheap}",
    )


def _noise(overhead: float) -> str:
    """What a figure below zero is."""
    return " (below zero: less than the machine's noise)" if overhead < 0 else ""


def _conditions(fields: str) -> str:
    """Conditions of equal cost that let 5, 50, 95, 95 and 95 percent of these fields' values through."""
    limits = ("94.5", "49.5", "4.5", "4.5", "4.5")
    return " AND ".join(
        f"worth({field} + 0.0) > {limit}" for field, limit in zip(fields, limits, strict=True)
    )


def _cheap_overhead(*, quick: bool, repeats: int) -> str:
    batches = workload.field_batches(10 if quick else 40)
    program = program_of(workload.source(), workload.nested_queries())
    found = in_turns(
        {
            routing: partial(run_once, program, batches, Strategy(routing=routing))
            for routing in ("selectivity", "fixed", "random")
        },
        repeats,
    )
    figures = ", ".join(f"{name} {1000 * each.cpu_s:.0f} ms" for name, each in found.items())
    return (
        f"With the nested queries' plain comparisons: {figures}. Gates cost more than such comparisons do, so `selectivity` "
        "visits every filter without asking."
    )


def changing(charts: dict[str, str], *, quick: bool, repeats: int) -> str:
    """What the policies do when selectivities swap."""
    every = 10
    batches = workload.swapping_batches(20 if quick else 60, every)
    own = program_of(
        workload.source(),
        ["SELECT ts FROM S WHERE worth(a + 0.0) > 89.5 AND worth(b + 0.0) > 89.5"],
    )
    settings = {
        routing: partial(run_once, own, batches, Strategy(routing=routing))
        for routing in ("fixed", "selectivity", "lottery", "random")
    }
    found = in_turns(settings, 2 * repeats - 1)
    rows = [[name, f"{1000 * each.cpu_s:.0f}"] for name, each in found.items()]
    followed = _places_over_time(own, batches)
    charts["changing"] = line_chart(
        "Which condition is asked first, selectivities swap every 10 packets", f"packets of {workload.BATCH:,} tuples", "place",
        followed,
    )  # fmt: skip
    return section(
        "## A workload that changes",
        table(["routing", "CPU ms"], rows),
        shown("changing"),
        f"Two functions; every {every} packets the one that lets 10 percent through lets everything through, and the other way "
        f"round, so a fixed order is right half of the time. Packets until the order had followed, swap by swap: "
        f"{_lag(followed, every)}.",
    )


def _places_over_time(
    program: cqc.Program, batches: Sequence[Mapping[str, TypedBatch]]
) -> dict[str, list[tuple[float, float]]]:
    engine = cqc.Engine(program, strategy=Strategy(), collect=False, keep_past=False)
    series: dict[str, list[tuple[float, float]]] = {"condition on a": [], "condition on b": []}
    for number, batch in enumerate(batches):
        engine.push_typed(batch)
        filters = next(each for each in engine.measure() if isinstance(each, FilterMetrics))
        places = {visit.name: visit.place for visit in filters.visits}
        for letter, points in zip("ab", series.values(), strict=True):
            place = next(place for name, place in places.items() if f"S.{letter}" in name)
            points.append((float(number), float(place)))
    return series


def _lag(followed: Mapping[str, Sequence[tuple[float, float]]], every: int) -> str:
    """For each swap, how many packets passed before the selective condition came first."""
    lags = []
    places = {name: [place for _, place in points] for name, points in followed.items()}
    count = len(places["condition on a"])
    for begin in range(0, count, every):
        # In even stretches a passes always, so b must be first.
        wanted = "condition on b" if begin // every % 2 == 0 else "condition on a"
        after = [at for at in range(begin, min(begin + every, count)) if places[wanted][at] == 1]
        lags.append(str(after[0] - begin) if after else "never")
    return ", ".join(lags)
