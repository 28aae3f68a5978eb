"""The engine on Spark: `cqc bench spark`.

A Parquet stream of eight whole-number attributes, a million rows a trigger. The measure is rows per CPU-second of the whole
process tree (Python and JVM), warmed up. `empty` hands the same stream to a `foreachBatch` that only calls `toArrow()`: no
engine behind that call can be quicker. Beside it native Spark: a streaming query for each query, and one query that joins
the stream with the broadcast table of ranges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.side_by_side import bars, machine, measure, table

_MODULE = "cqc.benchmarks.spark.measure"


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    files, rows = ("4", "250000") if quick else ("8", "250000")
    cases = [("empty", "0"), ("cqc", "1"), ("cqc", "100"), ("cqc", "1000")]
    cases += [("native", "1"), ("native", "10"), ("broadcast", "100")]
    cases += [] if quick else [("native", "100"), ("broadcast", "1000")]
    found = {case: _measured(*case, files, rows) for case in cases}
    empty = _rate(found["empty", "0"])
    lines = [
        [name, count, f"{_rate(each):,.0f}", f"{_rate(each) / empty:.0%}", f"{each['results']:,}"]
        for (name, count), each in found.items()
    ]
    header = ["contestant", "queries", "rows per CPU-s", "of empty", "results"]
    figures = {f"{name} {count}": _rate(each) for (name, count), each in found.items()}
    sections = [machine(), table(header, lines), bars("rows per CPU-s", figures, "rows/CPU-s")]
    sections.append(_small_batches(quick=quick))
    text = "\n\n".join(sections)
    if not quick:
        Path(__file__).with_name("results.md").write_text(
            f"# The engine on Spark\n\n`cqc bench spark`\n\n{text}\n", encoding="utf-8"
        )
    return text


def _small_batches(*, quick: bool) -> str:
    files = "20" if quick else "60"
    empty = _measured("empty", "0", files, "1")
    own = _measured("cqc", "1000", files, "1")
    names = ("ms_per_batch", "cpu_ms_per_batch")
    rows = [
        ["Spark alone", *(f"{empty[name]:.0f} ms" for name in names)],
        ["with 1,000 queries", *(f"{own[name]:.0f} ms" for name in names)],
        ["difference", *(f"{own[name] - empty[name]:.0f} ms" for name in names)],
    ]
    return "A micro-batch of one row:\n\n" + table(["", "wall time", "CPU time"], rows)


def _measured(contestant: str, queries: str, files: str, rows: str) -> dict[str, Any]:
    figures = measure(_MODULE, contestant, queries, files, rows)
    assert figures is not None
    return figures


def _rate(figures: dict[str, Any]) -> float:
    return float(figures["tuples"] / figures["cpu_s"])
