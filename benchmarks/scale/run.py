"""The graph on Spark's executors: `cqc bench scale`.

Four contestants over the same Parquet stream: *source*, rows that come to Python as Arrow and stop there; *floor*, the same with
a packed shuffle of one row in a hundred and a stateful operator that only counts; *filters*, 1,000 queries over one stream, whose
tuples stay where they are read; *joins*, 1,000 keyed joins whose filters pass one tuple in a hundred. The measure is tuples
per second of processor time of all processes, and wall time with one and two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.side_by_side import machine, measure, table

_MODULE = "cqc.benchmarks.scale.measure"
_STATE = "cqc.benchmarks.scale.state"
FLOORS = {"source": "source", "floor": "floor", "filters": "source", "joins": "floor"}


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    files, rows = ("8", "100000") if quick else ("16", "250000")
    found = {cores: measured(_MODULE, cores, files, rows) for cores in ("1", "2")}
    lines = []
    for name, bottom in FLOORS.items():
        for cores, figures in found.items():
            each, floor = figures[name], figures[bottom]
            lines.append(
                [
                    name,
                    cores,
                    f"{_rate(each):,.0f}",
                    f"{_rate(floor) / _rate(each):.2f} of {bottom}",
                    f"{each['wall_s'] / each['batches'] * 1000:,.0f} ms",
                    f"{found['1'][name]['wall_s'] / each['wall_s']:.2f}",
                    f"{each.get('bytes_sent', 0):.1%}",
                    f"{each['rebuilt']:.0%}" if "rebuilt" in each else "",
                ]
            )
    header = ["contestant", "cores", "tuples per CPU-s", "CPU a tuple", "wall a micro-batch"]
    header += ["speed, one core = 1", "of the data sent", "cells made again"]
    tuples, batch = ("100000", "20000") if quick else ("1000000", "100000")
    state = measured(_STATE, tuples, batch)
    rows_of_state = [
        ["a micro-batch over an empty cell", f"{state['empty_s'] * 1000:,.1f} ms"],
        ["the same with the state at hand", f"{state['warm_s'] * 1000:,.1f} ms"],
        ["the same after the state was read again", f"{state['miss_s'] * 1000:,.1f} ms"],
    ]
    text = "\n\n".join(
        [
            machine(),
            table(header, lines),
            f"State of {int(tuples):,} tuples in a cell, micro-batches of {int(batch):,}, processor time:",
            table(["", "CPU time"], rows_of_state),
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


def _rate(figures: dict[str, Any]) -> float:
    return float(figures["tuples"] / figures["cpu_s"])
