"""The graph on Spark's executors: `cqc bench scale`.

Four contestants over the same Parquet stream: *source*, rows that come to Python as Arrow and stop there; *floor*, the same with
a packed shuffle of one row in a hundred and a stateful operator that only counts; *filters*, 1,000 queries over one stream, whose
tuples stay where they are read; *joins*, 1,000 keyed joins whose filters pass one tuple in a hundred. The measure is tuples
per second of processor time of all processes, and the wall time of a micro-batch with one and two cores. On a machine that others
use too a contestant does not get the cores it may use; the table says how many it got.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from cqc.benchmarks.harness.side_by_side import machine, measure, table

_MODULE = "cqc.benchmarks.engine.scale.measure"
_STATE = "cqc.benchmarks.engine.scale.state"
_PIECES = "cqc.benchmarks.engine.scale.pieces"
_CONTESTANTS = ("source", "floor", "filters", "joins")


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    files, rows = ("12", "100000") if quick else ("16", "250000")
    found = {cores: measured(_MODULE, cores, files, rows) for cores in ("1", "2")}
    lines = []
    for name in _CONTESTANTS:
        for cores, figures in found.items():
            each = figures[name]
            lines.append(
                [
                    name,
                    cores,
                    f"{_rate(each):,.0f}",
                    f"{_rate(figures['source']) / _rate(each):.2f}",
                    f"{_rate(figures['floor']) / _rate(each):.2f}",
                    f"{each['wall_s'] * 1000:,.0f} ms",
                    f"{each['busy']:.2f}",
                    f"{found['1'][name]['wall_s'] / each['wall_s']:.2f}",
                    f"{each.get('bytes_sent', 0):.1%}",
                    f"{each['rebuilt']:.0%}" if "rebuilt" in each else "",
                ]
            )
    header = ["contestant", "cores", "tuples per CPU-s", "CPU, source = 1", "CPU, floor = 1"]
    header += [
        "wall a micro-batch",
        "cores it got",
        "speed, one core = 1",
        "of the data sent",
        "cells made again",
    ]
    tuples, batch = ("100000", "20000") if quick else ("1000000", "100000")
    state = measured(_STATE, tuples, batch)
    rows_of_state = [
        ["a micro-batch over an empty cell", f"{state['empty_s'] * 1000:,.1f} ms"],
        ["the same with the state at hand", f"{state['warm_s'] * 1000:,.1f} ms"],
        ["the same after the state was read again", f"{state['miss_s'] * 1000:,.1f} ms"],
        [
            "what the state at hand adds to a whole micro-batch, its source and shuffle included",
            f"{_added(state, int(batch) / _rate(found['1']['floor'])):.1%}",
        ],
    ]
    text = "\n\n".join(
        [
            machine() + _warning(),
            table(header, lines),
            f"State of {int(tuples):,} tuples in a cell, micro-batches of {int(batch):,}, processor time:",
            table(["", "CPU time"], rows_of_state),
            "What does not shrink when there are more machines, processor time:",
            table(["", "CPU time"], _pieces()),
        ]
    )
    if not quick:
        Path(__file__).with_name("results.md").write_text(
            f"# The graph on Spark's executors\n\n`cqc bench scale`\n\n{text}\n", encoding="utf-8"
        )
    return text


def measured(module: str, *arguments: str) -> dict[str, Any]:
    """The figures of a process of its own."""
    figures = measure(module, *arguments)
    assert figures is not None
    return figures


def _warning() -> str:
    """What to think of wall times on a machine that others use too."""
    cores = os.cpu_count() or 1
    if os.getloadavg()[0] <= cores + 1:
        return ""
    return "\n\nMore processes wanted a core than there are: wall times, and the speed of two cores, say little."


def _pieces() -> list[list[str]]:
    pieces = measured(_PIECES)
    return [
        ["a blob is packed, for each task and cell", f"{pieces['pack_us']:,.0f} us"],
        ["a blob is unpacked, for each task and cell", f"{pieces['unpack_us']:,.0f} us"],
        ["the driver takes an output, for each task or cell", f"{pieces['take_us']:,.0f} us"],
    ]


def _added(state: dict[str, Any], around_s: float) -> float:
    """How much a large state adds to a micro-batch, of which the cell's own part is small."""
    return float((state["warm_s"] - state["empty_s"]) / (state["empty_s"] + around_s))


def _rate(figures: dict[str, Any]) -> float:
    return float(figures["tuples"] / figures["cpu_s"])
