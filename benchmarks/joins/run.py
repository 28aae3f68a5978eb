"""Window joins of three streams for many queries: `cqc bench joins`.

Beside cqc, which reads micro-batches of 1 s of stream time: DuckDB and Polars with the whole input at once, one statement a
query (an upper bound for them), and one Polars statement written by hand for all queries, in batches of 10 s. Figures are
tuples per CPU-second of one process. A second table grows the state from 10,000 to 1,000,000 tuples a stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.side_by_side import bars, machine, measure, table

_OURS = "cqc.benchmarks.joins.measure"
_PEERS = "cqc.benchmarks.joins.peers"
_FORMS = {
    "duckdb-offline": "DuckDB, whole input, a statement a query",
    "polars-offline": "Polars, whole input, a statement a query",
    "polars-shared": "Polars, 10 s batches, one shared statement",
}
_WINDOW = "10"
_GROWTH = (
    "State, 1,000 tuples a second and stream, after twice the window: micro-batches in which the arrays grow, or use "
    "new memory for the first time, are not timed and cost more."
)


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    tuples = 20_000 if quick else 100_000
    sections = [
        machine(),
        "Tuples per CPU-second, 3 streams, 10 s window, about one partner a probe:",
    ]
    for rate in (100, 1000):
        sections.append(f"{rate} tuples a second and stream, {tuples:,} tuples a stream")
        rows, figures = _throughput(tuples, rate, quick=quick)
        sections.append(table(["", "1 query", "10", "100", "1,000"], rows))
        sections.append(bars("100 queries", figures, "tuples per CPU-s"))
    sections += [_GROWTH, _growth(quick=quick)]
    text = "\n\n".join(sections)
    if not quick:
        heading = "# Joins across streams\n\n`cqc bench joins`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _throughput(tuples: int, rate: int, *, quick: bool) -> tuple[list[list[str]], dict[str, float]]:
    counts = (1, 10, 100, 1000)
    ours = [_best(count, tuples, rate, repeats=1 if quick else 3) for count in counts]
    rows = [
        ["cqc, 1 s micro-batches", *(f"{each['tuples'] / each['cpu_s']:,.0f}" for each in ours)]
    ]
    figures = {"cqc": ours[2]["tuples"] / ours[2]["cpu_s"]}
    for form, name in _FORMS.items():
        cells = [name]
        for count, own in zip(counts, ours, strict=True):
            arguments = (str(count), str(tuples), str(rate), _WINDOW)
            found = None if count > 100 else measure(_PEERS, form, *arguments, peers=True)
            cells.append(_cell(found, own, 3 * tuples))
            if found is not None and count == 100:
                figures[form] = 3 * tuples / found["cpu_s"]
        rows.append(cells)
    return rows, figures


def _best(
    count: int, tuples: int, rate: int, repeats: int, window_s: int = 10, timed: int = 0
) -> dict[str, Any]:
    """The fastest of a few runs, each in a process of its own."""
    runs = [_ours(count, tuples, rate, window_s, timed) for _ in range(repeats)]
    return min(runs, key=lambda each: float(each["cpu_s"]))


def _ours(count: int, tuples: int, rate: int, window_s: int, timed: int) -> dict[str, Any]:
    arguments = (str(each) for each in (count, tuples, rate, window_s, timed))
    found = measure(_OURS, *arguments)
    assert found is not None
    return found


def _cell(found: dict[str, Any] | None, own: dict[str, Any], tuples: int) -> str:
    if found is None:
        return "-"
    same = "" if found["results"] == own["results"] else " (other results!)"
    return f"{tuples / found['cpu_s']:,.0f}{same}"


def _growth(*, quick: bool) -> str:
    large = 100 if quick else 1000  # seconds of window: that many thousand tuples a stream
    # Timed after twice the window, when all memory was touched once: what the state costs, not the growing of it.
    rows = []
    for count in (1, 100):
        repeats = 1 if quick else 3
        small = _best(count, 120_000, 1000, repeats, 10, 100_000)
        grown = _best(count, (2 * large + 400) * 1000, 1000, repeats, large, 100_000)
        costs = [each["cpu_s"] / each["tuples"] * 1e9 for each in (small, grown)]
        rows.append(
            [f"{count}", f"{costs[0]:.0f} ns", f"{costs[1]:.0f} ns", f"{costs[1] / costs[0]:.2f}x"]
        )
    return table(["queries", "10,000 tuples", f"{large * 1000:,} tuples", "a tuple costs"], rows)
