"""How long compiling takes and how much a compiled query keeps: `cqc bench compile`.

Rows: a file of range queries over one stream with join queries beside it, at growing sizes (linear when the time a query
stays the same); one query of thousands of literals under OR; one more query registered beside all the others.
Every measurement runs in a process of its own, so that memory is its own too.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

_SIZES = ((10_000, 100), (25_000, 250), (50_000, 500), (100_000, 1_000))
_QUICK_SIZES = ((2_000, 20), (4_000, 40))
_LITERALS = 5_000
_KEPT = 20_000
_TIME_LIMIT = 600.0


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    sizes = _QUICK_SIZES if quick else _SIZES
    rows = [_measure("program", str(ranges), str(joins)) for ranges, joins in sizes]
    wide = _measure("wide_or", str(_LITERALS))
    kept = _measure("kept", str(_KEPT))
    text = "\n".join([*_table(rows), "", *_single_figures(rows[-1], wide, kept)])
    if not quick:
        Path(__file__).with_name("results.md").write_text(
            f"# Compiling\n\n`cqc bench compile`, {_machine()}\n\n{text}\n", encoding="utf-8"
        )
    return text


def _machine() -> str:
    python = platform.python_version()
    return f"{os.cpu_count()} cores, Python {python}, {datetime.now(UTC):%Y-%m-%d}"


def _table(rows: list[dict[str, float]]) -> list[str]:
    lines = [
        "| range queries | join queries | CPU seconds | us a query | peak MB |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        count = row["ranges"] + row["joins"]
        lines.append(
            f"| {row['ranges']:,.0f} | {row['joins']:,.0f} | {row['seconds']:.1f} "
            f"| {row['seconds'] / count * 1e6:.0f} | {row['peak_mb']:.0f} |"
        )
    return lines


def _single_figures(
    largest: dict[str, float], wide: dict[str, float], kept: dict[str, float]
) -> list[str]:
    count = largest["ranges"] + largest["joins"]
    added, removed = largest["one_more_ms"], largest["remove_ms"]
    return [
        f"- one query of {_LITERALS:,} text literals under OR: {wide['seconds']:.2f} s",
        f"- one more query with {count:,.0f} there: {added:.2f} ms, removed in {removed:.3f} ms",
        f"- kept of a range query: {kept['kept_bytes']:.0f} bytes",
    ]


def _measure(*arguments: str) -> dict[str, float]:
    """One measurement in a fresh process."""
    finished = subprocess.run(
        [sys.executable, "-m", "cqc.benchmarks.engine.compile.measure", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=_TIME_LIMIT,
        check=True,
    )
    measured: dict[str, float] = json.loads(finished.stdout)
    return measured
