"""Asking at any time: `cqc bench pull`.

The experiments of PSoup's section 5 (figures 7 to 9 and 11, table 2), and aggregates over windows of up to a million tuples:
this engine with kept results, the same engine recomputing every time (NoMat), and DuckDB over the retained tuples. Figures
12 and 13 of the paper repeat 7 and 9 on recorded traffic.
"""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.benchmarks.pull import figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.benchmarks.pull.figures import Row

_BARS = 40


def run(*, quick: bool = False) -> str:
    """The tables and plots; the full run also records them in results.md beside this file."""
    text = "\n".join(_sections(quick))
    if not quick:
        day = datetime.now(tz=UTC).date().isoformat()
        machine = f"{platform.machine()}, Python {platform.python_version()}, {day}"
        heading = f"# Pull queries\n\n`cqc bench pull`; CPU time on {machine}.\n"
        Path(__file__).with_name("results.md").write_text(f"{heading}\n{text}\n", encoding="utf-8")
    return text


def _sections(quick: bool) -> Iterator[str]:
    repeats = 2 if quick else 8
    windows = [2**power for power in ((7, 10, 13) if quick else range(7, 17))]
    large = [1 << 12, 1 << 15] if quick else [1 << 14, 1 << 17, 1_000_000]
    for kind in ("equality", "interval"):
        rows = figures.selections_by_window(kind, windows, repeats)
        yield from _timed(f"Figure 7: {kind} selections, window in tuples", "window", rows)
    rows = figures.selections_by_predicates([1, 2, 3, 4], windows[-1] // 2, repeats)
    yield from _timed(
        f"Table 2: interval predicates, window {windows[-1] // 2}", "predicates", rows
    )
    rows = figures.joins_by_window([64, 128] if quick else [64, 128, 256, 576], repeats)
    yield from _timed("Figure 8: inequality joins, window in tuples of each stream", "window", rows)
    rows = figures.arrival_rates(
        [16, 64] if quick else [64, 512, 4096], 8_192 if quick else 65_536, 64 if quick else 512
    )
    yield from _rates("Figure 9: tuples a second against standing selections", "queries", rows)
    rows = figures.late_joins([256, 512] if quick else [512, 1024, 2048])
    yield from _timed("Figure 11: a join registered late, over so many past tuples", "past", rows)
    rows = figures.aggregates_by_window(large, repeats)
    yield from _timed("Aggregates: five over a window", "window", rows)
    rows = figures.groups_by_window(large, repeats)
    yield from _timed("Aggregates: three for each of sixteen groups", "window", rows)
    rows = figures.periodic([10, 100] if quick else [10, 100, 1000], 10_000 if quick else 50_000)
    yield from _timed("Periodic averages of different periods on one tree", "queries", rows)


def _timed(title: str, key: str, rows: Sequence[Row]) -> Iterator[str]:
    """A table of microseconds, with how many times slower than the kept results the others are."""
    names = [name for name in rows[-1] if name not in (key, "rows", "answers")]
    counts = [name for name in ("rows", "answers") if name in rows[-1]]
    first, others = names[0], names[1:]
    heads = [
        key,
        *counts,
        *(f"{name} us" for name in names),
        *(f"{name} / {first}" for name in others),
    ]
    yield from (f"## {title}", "", _line(heads), _line(["---"] * len(heads)))
    for row in rows:
        cells = [f"{row[key]:,.0f}", *(f"{row[name]:,.1f}" for name in counts)]
        cells += [f"{row[name] * 1e6:,.1f}" for name in names]
        cells += [f"{row[name] / row[first]:,.1f}" for name in others]
        yield _line(cells)
    yield from _plot(key, names, rows, 1e6, "us")


def _rates(title: str, key: str, rows: Sequence[Row]) -> Iterator[str]:
    names = [name for name in rows[0] if name != key]
    yield from (f"## {title}", "", _line([key, *names, "push / kept"]))
    yield _line(["---"] * (len(names) + 2))
    for row in rows:
        cells = [f"{row[name]:,.0f}" if name in row else "-" for name in names]
        yield _line([f"{row[key]:,.0f}", *cells, f"{row['push'] / row['kept, shared']:.2f}"])
    yield from _plot(key, names, rows, 1.0, "tuples/s")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _plot(
    key: str, names: Sequence[str], rows: Sequence[Row], scale: float, unit: str
) -> Iterator[str]:
    """Bars on a logarithmic scale: every mark more is half as much again."""
    values = [row[name] * scale for row in rows for name in names if name in row]
    least = min(values)
    yield from ("", "```")
    for row in rows:
        for name in names:
            if name in row:
                length = 1 + _steps(row[name] * scale / least)
                yield f"{row[key]:>10,.0f}  {name:<15} {'#' * length} {row[name] * scale:,.1f} {unit}"
    yield from ("```", "")


def _steps(ratio: float) -> int:
    steps = 0
    while ratio >= 1.5 and steps < _BARS:
        ratio /= 1.5
        steps += 1
    return steps
