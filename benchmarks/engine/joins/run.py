"""Window joins of three streams for many queries: `cqc bench joins`.

Beside cqc, which reads micro-batches of 1 s of stream time: DuckDB and Polars with the whole input at once, one statement a
query (an upper bound for them), and one Polars join written by hand for all queries, in batches of 10 s. All start from the
same Arrow input and are timed over the same stretch (`arrow_feed.py`). A further table grows the state from 10,000 to
1,000,000 tuples a stream.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.harness.side_by_side import Contestant, bars, interleaved, machine, table

_OURS = "cqc.benchmarks.engine.joins.measure"
_PEERS = "cqc.benchmarks.engine.joins.peers"
_NAMES = {
    "cqc": "cqc, 1 s micro-batches",
    "duckdb-offline": "DuckDB, whole input, a statement a query",
    "polars-offline": "Polars, whole input, a statement a query",
    "polars-shared": "Polars, 10 s batches, one join for all queries",
}
_COUNTS = (1, 10, 100, 1000)
_MOST_FOR_PEERS = 100
_WINDOW = "10"
_MODES = {"rows": "each query's rows handed over", "count": "results counted"}
_TIMED = (
    "Timed, on all sides: from Arrow record batches (whole tables for the offline forms) to each query's rows by column, or "
    "to counts; intake, the keeping of earlier tuples and delivery included. Not timed: generating and cutting the input, "
    "registering the queries, and a first pass over a twentieth of it. CPU time of the whole process, one thread each. Every "
    "figure is the median of {repeats} runs in processes of their own, taken in turns."
)
_SIDDHI = "Siddhi, measured once on another day and not in this run: 80,000 tuples per CPU-second at 1 query, 8,000 at 10."
_GROWTH = (
    "State, 1,000 tuples a second and stream, after twice the window: micro-batches in which the arrays grow, or use "
    "new memory for the first time, are not timed and cost more."
)


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    tuples, repeats = (20_000, 1) if quick else (100_000, 3)
    sections = [
        machine(),
        "Tuples per CPU-second, 3 streams, 10 s window, about one partner a probe.",
        _TIMED.format(repeats=repeats),
        _SIDDHI,
    ]
    for rate in (100, 1000):
        for mode, what in _MODES.items():
            sections.append(
                f"{rate} tuples a second and stream, {tuples:,} tuples a stream, {what}"
            )
            rows, figures = _throughput(mode, tuples, rate, repeats)
            sections.append(table(["", *(f"{count:,}" for count in _COUNTS)], rows))
            sections.append(bars("100 queries", figures, "tuples per CPU-s"))
    sections += [_GROWTH, _growth(quick=quick)]
    text = "\n\n".join(sections)
    if not quick:
        heading = "# Joins across streams\n\n`cqc bench joins`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _throughput(
    mode: str, tuples: int, rate: int, repeats: int
) -> tuple[list[list[str]], dict[str, float]]:
    found = {
        count: interleaved(_contestants(mode, count, tuples, rate), repeats) for count in _COUNTS
    }
    rows = [
        [name, *(_cell(found[count].get(form), found[count]["cqc"]) for count in _COUNTS)]
        for form, name in _NAMES.items()
    ]
    figures = {form: _rate(each) for form, each in found[100].items() if each is not None}
    return rows, figures


def _contestants(mode: str, count: int, tuples: int, rate: int) -> dict[str, Contestant]:
    sizes = (mode, str(count), str(tuples), str(rate), _WINDOW)
    contestants = {"cqc": Contestant(_OURS, (*sizes, "0"))}
    if count <= _MOST_FOR_PEERS:
        for form in _NAMES:
            if form != "cqc":
                contestants[form] = Contestant(_PEERS, (form, *sizes), peers=True)
    return contestants


def _rate(found: dict[str, Any]) -> float:
    return float(found["tuples"]) / float(found["cpu_s"])


def _cell(found: dict[str, Any] | None, own: dict[str, Any] | None) -> str:
    if found is None or own is None:
        return "-"
    same = "" if found["results"] == own["results"] else " (other results!)"
    faster = "" if found is own else f" ({_rate(own) / _rate(found):.1f}x)"
    return f"{_rate(found):,.0f}{faster}{same}"


def _growth(*, quick: bool) -> str:
    large = 100 if quick else 1000  # seconds of window: that many thousand tuples a stream
    # Timed after twice the window, when all memory was touched once: what the state costs, not the growing of it.
    rows = []
    for count in (1, 100):
        contestants = {
            "small": Contestant(_OURS, _sizes(count, 120_000, 10)),
            "grown": Contestant(_OURS, _sizes(count, (2 * large + 400) * 1000, large)),
        }
        found = interleaved(contestants, 1 if quick else 3)
        small, grown = (
            1e9 / _rate(each) for each in (found["small"], found["grown"]) if each is not None
        )
        rows.append([f"{count}", f"{small:.0f} ns", f"{grown:.0f} ns", f"{grown / small:.2f}x"])
    return table(["queries", "10,000 tuples", f"{large * 1000:,} tuples", "a tuple costs"], rows)


def _sizes(count: int, tuples: int, window_s: int) -> tuple[str, ...]:
    return ("count", str(count), str(tuples), "1000", str(window_s), "100000")
