"""Theta joins with relative windows: `cqc bench theta`.

The ICU streams of Juggler, 5, 20 and 50 queries over two to four of them, of whose comparisons 25, 50 and 75 percent are of
common shapes. Beside cqc in micro-batches of 1 s: Polars in batches of 6 s, and Polars and DuckDB over the whole input.
Figures are CPU-seconds. The second table has queries that differ in one constant only: one predicate list.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.side_by_side import bars, machine, measure, table

_OURS = "cqc.benchmarks.theta.measure"
_PEERS = "cqc.benchmarks.theta.peers"
_RATE = "100"


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    tuples = "5000" if quick else "30000"
    sections = [
        machine(),
        f"CPU-seconds, {_RATE} tuples a second and stream, {int(tuples):,} tuples a stream:",
    ]
    rows, figures = _mixed(tuples, quick=quick)
    header = [
        "queries",
        "overlap",
        "results",
        "cqc",
        "Polars 6 s",
        "Polars whole",
        "DuckDB whole",
        "ratios",
    ]
    sections += [table(header, rows), bars("20 queries, 50% overlap", figures, "CPU-s")]
    sections += ["One predicate list:", _one_list(tuples)]
    text = "\n\n".join(sections)
    if not quick:
        heading = "# Theta joins with relative windows\n\n`cqc bench theta`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _mixed(tuples: str, *, quick: bool) -> tuple[list[list[str]], dict[str, float]]:
    rows, figures = [], {}
    for count in ("5", "20", "50"):
        for overlap in ("50",) if quick else ("25", "50", "75"):
            own = _ours("mixed", count, overlap, tuples, repeats=1 if quick else 3)
            batch = measure(_PEERS, "polars-batch", count, overlap, tuples, _RATE, peers=True)
            whole = measure(_PEERS, "polars-offline", count, overlap, tuples, _RATE, peers=True)
            duck = None
            if count == "5":  # grows without bound: nested loops over the whole input
                duck = measure(_PEERS, "duckdb-offline", count, overlap, tuples, _RATE, peers=True)
            ratios = " and ".join(_ratio(each, own) for each in (batch, whole))
            cells = [_cell(each, own) for each in (batch, whole, duck)]
            rows.append(
                [count, f"{overlap}%", f"{own['results']:,}", f"{own['cpu_s']:.2f}", *cells, ratios]
            )
            if (count, overlap) == ("20", "50"):
                contestants = {"cqc": own, "Polars 6 s": batch, "Polars whole": whole}
                figures = {name: float(each["cpu_s"]) for name, each in contestants.items() if each}
    return rows, figures


def _ours(kind: str, count: str, overlap: str, tuples: str, repeats: int) -> dict[str, Any]:
    runs = [measure(_OURS, kind, count, overlap, tuples, _RATE) for _ in range(repeats)]
    return min((each for each in runs if each is not None), key=lambda each: float(each["cpu_s"]))


def _cell(found: dict[str, Any] | None, own: dict[str, Any]) -> str:
    if found is None:
        return "-"
    return f"{found['cpu_s']:.2f}" + (
        "" if found["results"] == own["results"] else " (other results!)"
    )


def _ratio(found: dict[str, Any] | None, own: dict[str, Any]) -> str:
    return "-" if found is None else f"{found['cpu_s'] / own['cpu_s']:.1f}x"


def _one_list(tuples: str) -> str:
    runs = [
        (count, _ours("list", count, "0", tuples, repeats=2))
        for count in ("1", "100", "1000", "10000")
    ]
    base = float(runs[1][1]["cpu_s"])
    rows = [
        [
            f"{int(count):,}",
            f"{own['results']:,}",
            f"{own['cpu_s']:.3f}",
            f"{own['cpu_s'] / base:.2f}x",
        ]
        for count, own in runs
    ]
    return table(["queries", "results", "CPU-seconds", "of 100 queries"], rows)
