"""Asking at any time: `cqc bench pull`.

The experiments of PSoup's section 5 (figures 7 to 9 and 11, table 2), aggregates over windows of up to a million tuples, and
periodic queries: this engine with kept results, the same engine recomputing every time (NoMat), DuckDB over the retained
tuples, and NumPy by hand. Figures 12 and 13 of the paper repeat 7 and 9 on recorded traffic.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.benchmarks.harness.plots import line_chart
from cqc.benchmarks.papers.pull import figures

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.benchmarks.papers.pull.figures import Row

_BARS = 40
_COUNTS = ("rows", "answers")  # columns that say how much was answered


@dataclass(frozen=True, slots=True)
class Figure:
    """What one experiment measured: a table and a picture of it."""

    file: str  # of the picture, without its ending
    title: str
    key: str  # the column that the others are drawn over
    rows: Sequence[Row]
    unit: str = "us"
    scale: float = 1e6  # from what was measured to the unit
    compared: str = ""  # the column that the others are compared with: how many times as much
    log_x: bool = True

    @property
    def names(self) -> list[str]:
        """What was measured."""
        known = dict.fromkeys(name for row in self.rows for name in row)
        return [name for name in known if name not in (self.key, *_COUNTS)]

    def table(self) -> str:
        """The figures, in Markdown."""
        counts = [name for name in _COUNTS if name in self.rows[-1]]
        others = [name for name in self.names if name != self.compared] if self.compared else []
        heads = [self.key, *counts, *(f"{name}, {self.unit}" for name in self.names)]
        heads += [f"{name} / {self.compared}" for name in others]
        lines = [_line(heads), _line(["---"] * len(heads))]
        for row in self.rows:
            cells = [f"{row[self.key]:,.0f}", *(f"{row[name]:,.1f}" for name in counts)]
            cells += [self._number(row, name) for name in self.names]
            cells += [
                f"{row[each] / row[self.compared]:,.2f}" if each in row else "-" for each in others
            ]
            lines.append(_line(cells))
        return "\n".join(lines)

    def _number(self, row: Row, name: str) -> str:
        if name not in row:
            return "-"
        value = row[name] * self.scale
        return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"

    def picture(self) -> str:
        """The same as a chart in SVG."""
        points = {
            name: [(row[self.key], row[name] * self.scale) for row in self.rows if name in row]
            for name in self.names
        }
        return line_chart(self.title, self.key, self.unit, points, log_x=self.log_x, log_y=True)

    def bars(self) -> Iterator[str]:
        """The same for a terminal: bars on a logarithmic scale, every mark more is half as much again."""
        measured = [
            row[name] * self.scale for row in self.rows for name in self.names if name in row
        ]
        least = min((value for value in measured if value > 0), default=1.0)
        width = max(map(len, self.names))
        yield "```"
        for row in self.rows:
            for name in self.names:
                if name in row:
                    length = 1 + _steps(row[name] * self.scale / least)
                    shown = f"{self._number(row, name)} {self.unit}"
                    yield f"{row[self.key]:>10,.0f}  {name:<{width}} {'#' * length} {shown}"
        yield "```"


def run(*, quick: bool = False) -> str:
    """The tables and plots; the full run also records them in results.md, with pictures, beside this file."""
    made = list(measured(quick))
    if not quick:
        _record(made, Path(__file__).parent)
    return "\n".join(
        "\n".join((f"## {each.title}", "", each.table(), "", *each.bars(), "")) for each in made
    )


def _record(made: Sequence[Figure], folder: Path) -> None:
    day = datetime.now(tz=UTC).date().isoformat()
    machine = f"{platform.machine()}, Python {platform.python_version()}, {day}"
    parts = [f"# Pull queries\n\n`cqc bench pull`; CPU time on {machine}.\n"]
    for each in made:
        (folder / f"{each.file}.svg").write_text(each.picture(), encoding="utf-8")
        parts.append(f"## {each.title}\n\n{each.table()}\n\n![{each.title}]({each.file}.svg)\n")
    (folder / "results.md").write_text("\n".join(parts), encoding="utf-8")


def measured(quick: bool) -> Iterator[Figure]:
    """One experiment after the other."""
    repeats = 2 if quick else 8
    windows = [2**power for power in ((7, 10, 13) if quick else range(7, 17))]
    for kind in ("equality", "interval"):
        yield Figure(
            f"figure_7_{kind}",
            f"Figure 7: response time, {kind} selections",
            "window in tuples",
            _keyed("window in tuples", figures.selections_by_window(kind, windows, repeats)),
            compared="kept",
        )
    yield Figure(
        "table_2",
        f"Table 2: response time, window of {windows[-1] // 2:,} tuples",
        "predicates",
        figures.selections_by_predicates([1, 2, 3, 4], windows[-1] // 2, repeats),
        compared="kept",
        log_x=False,
    )
    sizes = [64, 128] if quick else [64, 128, 256, 576]
    yield Figure(
        "figure_8",
        "Figure 8: response time, inequality joins",
        "window in tuples of each stream",
        _keyed("window in tuples of each stream", figures.joins_by_window(sizes, repeats)),
        compared="kept",
    )
    counts = [16, 64] if quick else [64, 512, 4096]
    rates = figures.arrival_rates(counts, 8_192 if quick else 65_536, 64 if quick else 512)
    yield Figure(
        "figure_9",
        "Figure 9: arrival rate against standing selections",
        "queries",
        rates,
        unit="tuples/s",
        scale=1.0,
        compared="push",
    )
    yield Figure(
        "figure_11",
        "Figure 11: a join registered late",
        "past tuples",
        _keyed("past tuples", figures.late_joins([256, 512] if quick else [512, 1024, 2048])),
        compared="composite",
    )
    large = [1 << 12, 1 << 15] if quick else [1 << 14, 1 << 17, 1_000_000]
    for file, title, measure in (
        ("aggregates", "Five aggregates over a window", figures.aggregates_by_window),
        ("groups", "Three aggregates for each of sixteen groups", figures.groups_by_window),
        ("distinct", "Counts and sums of distinct values", figures.distinct_by_window),
    ):
        rows = _keyed("window in tuples", measure(large, repeats))
        yield Figure(file, title, "window in tuples", rows, compared="kept")
    numbers = [10, 100] if quick else [10, 100, 1_000, 4_000]
    yield Figure(
        "periodic",
        "Periodic averages of different periods and lengths on one tree",
        "queries",
        figures.periodic(numbers, 5_000 if quick else 50_000),
    )
    yield Figure(
        "drift",
        "A sum as its window slides: relative error",
        "slides",
        figures.drift(2_000 if quick else 200_000),
        unit="of the sum",
        scale=1.0,
        log_x=False,
    )


def _keyed(key: str, rows: Sequence[Row]) -> list[Row]:
    """The rows with their first column under another name."""
    return [{key: row[next(iter(row))], **dict(list(row.items())[1:])} for row in rows]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _steps(ratio: float) -> int:
    steps = 0
    while ratio >= 1.5 and steps < _BARS:
        ratio /= 1.5
        steps += 1
    return steps
