"""Theta joins with relative windows: `cqc bench theta`.

The ICU streams of Juggler, 5, 20 and 50 queries over two to four of them, of whose comparisons 25, 50 and 75 percent are of
common shapes. Beside cqc in micro-batches of 1 s: Polars in batches of 6 s, and Polars and DuckDB over the whole input, all
from the same Arrow input and timed over the same stretch (`arrow_feed.py`). Figures are CPU-seconds. The last table has
queries that differ in one constant only: one predicate list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.harness.side_by_side import Contestant, bars, interleaved, machine, table

_OURS = "cqc.benchmarks.engine.theta.measure"
_PEERS = "cqc.benchmarks.engine.theta.peers"
_RATE = "100"
_FORMS = ("polars-batch", "polars-offline", "duckdb-offline")
_MODES = {"rows": "each query's rows handed over", "count": "results counted"}
_TIMED = (
    "Timed, on all sides: from Arrow record batches (whole tables for the offline forms) to each query's rows by column, or "
    "to counts; intake, the keeping of earlier tuples and delivery included. Not timed: generating and cutting the input, "
    "registering the queries, and a first pass over a twentieth of it. CPU time of the whole process, one thread each. Every "
    "figure is the median of {repeats} runs in processes of their own, taken in turns."
)
_HEADER = [
    "queries",
    "overlap",
    "results",
    "cqc",
    "Polars 6 s",
    "Polars whole",
    "DuckDB whole",
    "Polars 6 s and whole against cqc",
]


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    tuples, repeats = ("5000", 1) if quick else ("30000", 3)
    sections = [
        machine(),
        f"CPU-seconds, {_RATE} tuples a second and stream, {int(tuples):,} tuples a stream.",
        _TIMED.format(repeats=repeats),
    ]
    for mode, what in _MODES.items():
        rows, figures = _mixed(mode, tuples, repeats, quick=quick)
        sections += [f"{what[0].upper()}{what[1:]}", table(_HEADER, rows)]
        sections.append(bars("20 queries, 50% overlap", figures, "CPU-s"))
    sections += ["One predicate list, results counted", _one_list(tuples, repeats)]
    text = "\n\n".join(sections)
    if not quick:
        heading = "# Theta joins with relative windows\n\n`cqc bench theta`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _mixed(
    mode: str, tuples: str, repeats: int, *, quick: bool
) -> tuple[list[list[str]], dict[str, float]]:
    rows, figures = [], {}
    for count in ("5", "20", "50"):
        for overlap in ("50",) if quick else ("25", "50", "75"):
            found = interleaved(_contestants(mode, count, overlap, tuples), repeats)
            own = found["cqc"]
            assert own is not None
            peers = [found.get(form) for form in _FORMS]
            ratios = " and ".join(_ratio(each, own) for each in peers[:2])
            cells = [_cell(each, own) for each in (own, *peers)]
            rows.append([count, f"{overlap}%", f"{own['results']:,}", *cells, ratios])
            if (count, overlap) == ("20", "50"):
                figures = {name: float(each["cpu_s"]) for name, each in found.items() if each}
    return rows, figures


def _contestants(mode: str, count: str, overlap: str, tuples: str) -> dict[str, Contestant]:
    sizes = (mode, count, overlap, tuples, _RATE)
    contestants = {"cqc": Contestant(_OURS, ("mixed", *sizes))}
    for form in _FORMS:
        if form != "duckdb-offline" or count == "5":  # it grows without bound: nested loops
            contestants[form] = Contestant(_PEERS, (form, *sizes), peers=True)
    return contestants


def _cell(found: dict[str, Any] | None, own: dict[str, Any]) -> str:
    if found is None:
        return "-"
    same = "" if found["results"] == own["results"] else " (other results!)"
    return f"{found['cpu_s']:.2f}{same}"


def _ratio(found: dict[str, Any] | None, own: dict[str, Any]) -> str:
    return "-" if found is None else f"{found['cpu_s'] / own['cpu_s']:.1f}x"


def _one_list(tuples: str, repeats: int) -> str:
    counts = ("1", "100", "1000", "10000")
    contestants = {
        count: Contestant(_OURS, ("list", "count", count, "0", tuples, _RATE)) for count in counts
    }
    found = {count: each for count, each in interleaved(contestants, repeats).items() if each}
    base = float(found["100"]["cpu_s"])
    rows = [
        [
            f"{int(count):,}",
            f"{own['results']:,}",
            f"{own['cpu_s']:.3f}",
            f"{own['cpu_s'] / base:.2f}x",
        ]
        for count, own in found.items()
    ]
    return table(["queries", "results", "CPU-seconds", "of 100 queries"], rows)
