"""The engine on Spark: `cqc bench spark`.

A Parquet stream of eight whole-number attributes, a million rows a trigger. The measure is rows per CPU-second of the whole
process tree (Python and JVM). `empty` hands the stream to a `foreachBatch` that only calls `toArrow()`; `cqc` answers the
queries over the same streaming DataFrame, and `run` is `cqc run` on Spark over the same files. Beside them native Spark: a
streaming query for each query, and one query that joins the stream with the broadcast table of ranges.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.harness.side_by_side import bars, machine, measure, table

_MODULE = "cqc.benchmarks.engine.spark.measure"
_SMALL = "cqc.benchmarks.engine.spark.small_batches"
_OURS = ("empty:0", "cqc:1", "cqc:100", "cqc:1000", "run:100", "run:1000")
_NATIVE = ("cqc:100", "run:100", "native:1", "native:10", "native:100", "broadcast:100")
_SLOWEST = ("cqc:1000", "run:1000", "broadcast:1000")


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    files, rounds = ("1", "1") if quick else ("4", "3")
    rows = 250_000 * int(files)
    sections = [
        machine(),
        "## Beside the same source with nothing to do\n",
        _compared(rows, _passes(files, rounds, *_OURS), "empty:0"),
        "## Beside native Spark\n",
        _compared(rows, _passes(files, "1", *(_NATIVE[:-2] if quick else _NATIVE)), "native:10"),
    ]
    if not quick:
        sections.append(_compared(rows, _passes(files, "1", *_SLOWEST), "broadcast:1000"))
    sections += ["## A micro-batch of one row\n", _small_batches(quick=quick)]
    text = "\n\n".join(sections)
    if not quick:
        Path(__file__).with_name("results.md").write_text(
            f"# The engine on Spark\n\n`cqc bench spark`\n\n{text}\n", encoding="utf-8"
        )
    return text


def _passes(files: str, rounds: str, *contestants: str) -> dict[str, Any]:
    found = measure(_MODULE, files, "250000", rounds, *contestants)
    assert found is not None
    return found


def _compared(rows: int, found: dict[str, Any], with_: str) -> str:
    """Each contestant, its rate, and how much quicker it is than one of them."""
    rates = {name: rows / each["cpu_s"] for name, each in found.items()}
    lines = [
        [
            *name.split(":"),
            f"{rate:,.0f}",
            f"{found[name]['wall_s']:.1f} s",
            f"{rate / rates[with_]:.2f}",
            f"{found[name]['results']:,}",
        ]
        for name, rate in rates.items()
    ]
    header = ["contestant", "queries", "rows per CPU-s", "wall time", f"{with_} = 1", "results"]
    return f"{table(header, lines)}\n\n{bars('rows per CPU-s', rates, 'rows/CPU-s')}"


def _small_batches(*, quick: bool) -> str:
    found = measure(_SMALL, "10" if quick else "60", "1000")
    assert found is not None
    names = {
        "alone": "Spark alone",
        "ours": "with 1,000 queries",
        "difference": "difference of neighbours",
    }
    rows = [[text, *(f"{figure:.0f} ms" for figure in found[name])] for name, text in names.items()]
    return table(["median", "wall time", "CPU time"], rows)
