"""Juggler's experiments: `cqc bench juggler`.

Multi-joins beside binary plans (section 5.2.1), the order of predicate types adaptive and in six static orders (5.2.2), and
overlapping predicates (5.2.3). CPU time of this process, settings in turns; every setting must find the same.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import cqc
from cqc.benchmarks.harness.side_by_side import table
from cqc.benchmarks.harness.strategies import (
    Strategy,
    Timed,
    in_turns,
    line_chart,
    record,
    run_once,
    section,
    shown,
    verdict,
)
from cqc.benchmarks.papers.juggler import workload
from cqc.runtime.join.step.phase_order import ORDERS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.intake.typed_batch import TypedBatch

_FLAT = Strategy(join="flat", feedback="off")


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them, with plots, beside this file."""
    repeats = 1 if quick else 3
    charts: dict[str, str] = {}
    sections = [_plans(repeats), *_orders(charts, repeats), _overlaps(repeats)]
    heading = "# Juggler's experiments\n\n`cqc bench juggler`"
    return record(Path(__file__).parent, heading, sections, charts, quick=quick)


def comparisons(found: Timed) -> int:
    """Candidates that a phase looked at; where the phases are one kernel, each candidate counts once."""
    compared = sum(phase.compared for join in found.joins for phase in join.phases)
    offered = sum(part.candidates for join in found.joins for part in join.inputs)
    return compared or offered + sum(tree.work.candidates for tree in found.trees)


def _plans(repeats: int) -> str:
    program = cqc.compile(workload.declarations("BHTK") + workload.FOUR)
    batches = workload.FOUR_SETTING.batches("BHTK")
    settings = {
        name: partial(run_once, program, batches, Strategy(join=shape, feedback="off"))
        for name, shape in workload.SHAPES.items()
    }
    settings["BHTK, one multi-join"] = partial(run_once, program, batches, _FLAT)
    settings["auto"] = partial(run_once, program, batches, Strategy())
    found = in_turns(settings, repeats)
    rows = []
    for name, each in found.items():
        partials = each.partial_results
        rows.append([name, f"{1000 * each.cpu_s:.0f}", f"{partials:,}", f"{each.results:,}"])
    return section(
        "## Binary plans and multi-joins (figures 5.4 to 5.7)",
        table(["plan", "CPU ms", "intermediate results", "results"], rows),
        verdict(found, "auto", [name for name in settings if name != "auto"]),
        "The paper: one binary plan has the fastest output, but on average multi-joins are faster and make far fewer "
        "intermediate tuples. `BHT_K` is a node of three inputs below one of two. A multi-join finds a combination of two tuples "
        "again for every new third one and keeps none of them; a tree makes it once and keeps it.",
    )


def _orders(charts: dict[str, str], repeats: int) -> list[str]:
    parts = ["## Orders of predicate types (figures 5.10 and 5.11)"]
    for number, (title, (streams, text, setting)) in enumerate(workload.REGIMES.items()):
        program = cqc.compile(workload.declarations(streams) + text)
        batches = setting.batches(streams)
        settings = {
            order: partial(run_once, program, batches, replace(_FLAT, order=order), warm=0)
            for order in ("adaptive", *ORDERS)
        }
        settings["auto, shape too"] = partial(run_once, program, batches, Strategy(), warm=0)
        run_once(program, batches[:3], _FLAT)
        found = in_turns(settings, repeats)
        rows = [
            [name, f"{1000 * each.cpu_s:.0f}", f"{comparisons(each):,}", f"{each.results:,}"]
            for name, each in found.items()
        ]
        name = f"orders-{number + 1}"
        charts[name] = line_chart(
            f"Output over time: {title}", "CPU ms", "results",
            {order: _output(program, batches, order) for order in ("adaptive", *ORDERS)}, log_x=True,
        )  # fmt: skip
        chosen = ", ".join(
            f"{each.order} {each.access} ({each.steps} steps)"
            for join in found["adaptive"].joins
            for each in join.orders
        )
        parts += [
            f"When {title}:",
            table(["order", "CPU ms", "comparisons", "results"], rows),
            verdict(found, "adaptive", ORDERS),
            verdict(found, "auto, shape too", ORDERS),
            f"Chosen by `adaptive`: {chosen}.",
            shown(name),
        ]
    parts.append(
        "The paper: adaptive reordering has the output rate of the best static order, AJW for its query, and fewer comparisons "
        "than every static order. Here the order of phases matters less than which structure lists the candidates, which the "
        "first of J and W decides, so orders come in two groups. Which streams meet first may matter more: `--join auto` also "
        "chooses the shape, and joins B and H first where few of their tuples agree. `fused` is one kernel that checks everything about a "
        "candidate at once, AJW or AWJ; `adaptive` uses it unless another structure lists far fewer candidates. Its "
        "comparisons then count each candidate once, those of the static orders once a phase."
    )
    return parts


def _output(
    program: cqc.Program, batches: Sequence[Mapping[str, TypedBatch]], order: str
) -> list[tuple[float, float]]:
    """Results so far after so much CPU time."""
    engine = cqc.Engine(
        program, strategy=replace(_FLAT, order=order), collect=False, keep_past=False
    )
    started, points = time.process_time(), []
    step = max(1, len(batches) // 20)
    for number, batch in enumerate(batches):
        engine.push_typed(batch)
        if number % step == step - 1:
            spent = 1000 * (time.process_time() - started)
            points.append((spent, float(sum(engine.result_counts().values()))))
    return points


def _overlaps(repeats: int) -> str:
    rows = []
    batches = workload.OVERLAP_SETTING.batches("BH")
    for percent in workload.OVERLAPS:
        program = cqc.compile(workload.declarations("BH") + workload.overlapping(percent))
        shared = replace(_FLAT, order="AJW")
        apart = replace(_FLAT, order="AJW", sharing=False)
        found = in_turns(
            {
                "adaptive": partial(run_once, program, batches, _FLAT),
                "shared": partial(run_once, program, batches, shared),
                "apart": partial(run_once, program, batches, apart),
            },
            repeats,
        )
        rows.append([
            percent, *(f"{1000 * found[name].cpu_s:.0f}" for name in found),
            f"{comparisons(found['shared']):,}", f"{comparisons(found['apart']):,}", f"{found['shared'].results:,}",
        ])  # fmt: skip
    return section(
        "## Overlapping predicates (figure 5.12)",
        table(
            ["overlap", "adaptive, CPU ms", "shared AJW, ms", "a join a query, AJW, ms", "comparisons shared",
             "comparisons apart", "results"],
            rows,
        ),
        "Five queries over B and H each. The paper: the more predicates fall into common lists, the fewer comparisons. The "
        "lists are the same here, but a comparison that counts is a candidate in a phase, whatever the number of lists, "
        "so what overlap saves shows beside the same queries with a join each, where each candidate is met once a query.",
    )  # fmt: skip
