"""Functions, nested filters and networks: `cqc bench values`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.engine.values.filters import CONDITIONS
from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_HOME = "cqc.benchmarks.engine.values"
_TIMED = (
    "Nanoseconds of CPU a value in a packet of 10,000 rows with distinct values, median of five rounds of {seconds} s in all. cqc: one compiled expression over columns. DuckDB: "
    "one statement to an Arrow table, planning included. Polars: one select. One thread each. The last column is cqc against the better of both; 3x is wanted."
)
_FILTERS = (
    "A thousand rules of one kind, CPU microseconds a row from Arrow to results, median of {repeats} runs in turns. Wanted: a nested field at most 1.2x, "
    "membership and networks at most 2x of equality. An element that is searched stands beside a text that is searched."
)


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    seconds, repeats, packets = ("0.05", 1, "5") if quick else ("0.3", 3, "20")
    found = interleaved(
        {
            "cqc": Contestant(f"{_HOME}.measure", (seconds,)),
            "peers": Contestant(f"{_HOME}.peers", (seconds,), peers=True),
        },
        1,
    )
    filters = interleaved(
        {kind: Contestant(f"{_HOME}.filters", (kind, "1000", packets)) for kind in CONDITIONS},
        repeats,
    )
    text = "\n\n".join(
        [
            machine(),
            _FILTERS.format(repeats=repeats),
            _filter_table(filters),
            _TIMED.format(seconds=seconds),
            *_function_tables(found["cqc"] or {}, found["peers"] or {}),
        ]
    )
    if not quick:
        heading = "# Values\n\n`cqc bench values`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _filter_table(found: dict[str, dict[str, Any] | None]) -> str:
    rows = []
    for kind, each in found.items():
        beside = found["text" if kind in ("text", "any element") else "equality"]
        if each is not None and beside is not None:
            rows.append(
                [
                    kind,
                    f"{each['us']:.2f}",
                    f"{each['results']:,}",
                    f"{each['us'] / beside['us']:.2f}x",
                ]
            )
    return table(["1,000 rules of", "us a row", "results", "of equality, or of a text"], rows)


def _function_tables(ours: dict[str, Any], peers: dict[str, Any]) -> list[str]:
    """The functions that have a peer, the slowest beside it first; and those that have none."""
    others = peers.get("ns", {})
    beside, alone = [], []
    for name, ns in ours.get("ns", {}).items():
        figures = [others.get(peer, {}).get(name) for peer in ("duckdb", "polars")]
        known = [each for each in figures if each is not None]
        if known:
            shown = ["-" if each is None else f"{each:,.1f}" for each in figures]
            beside.append((ns / min(known), [f"`{name}`", f"{ns:,.1f}", *shown]))
        else:
            alone.append([f"`{name}`", f"{ns:,.1f}"])
    beside.sort(key=lambda each: -each[0])
    rows = [[*cells, f"{ratio:.1f}x"] for ratio, cells in beside]
    made = [table(["function", "cqc", "DuckDB", "Polars", "against the better"], rows)]
    if alone:
        made += ["No package has these over whole columns:", table(["function", "cqc"], alone)]
    missing = peers.get("missing", [])
    return [*made, "Not run: " + "; ".join(missing)] if missing else made
