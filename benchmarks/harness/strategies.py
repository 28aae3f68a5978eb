"""What the benchmarks of strategies share: the same input in several settings, side by side, and the record of it.

Settings run in turns, so that a machine that slows down slows all of them down, and the least of their CPU times counts: what
else runs on the machine only adds to it. Every setting must find what the first one finds, or the benchmark stops.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import cqc
from cqc.benchmarks.harness.plots import line_chart
from cqc.benchmarks.harness.side_by_side import machine
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.metrics.operators import FilterMetrics, JoinMetrics, TreeMetrics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from cqc.compiler import Program
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.metrics.operators import OperatorMetrics


@dataclass(frozen=True)
class Timed:
    """One run: CPU seconds, results in all, and what the operators counted."""

    cpu_s: float
    results: int
    operators: Sequence[OperatorMetrics] = ()

    @property
    def joins(self) -> list[JoinMetrics]:
        """Of the joins that are not trees."""
        return [each for each in self.operators if isinstance(each, JoinMetrics)]

    @property
    def trees(self) -> list[TreeMetrics]:
        """Of the joins that are."""
        return [each for each in self.operators if isinstance(each, TreeMetrics)]

    @property
    def visits(self) -> int:
        """How often tuples visited the filters of their streams."""
        filters = [each for each in self.operators if isinstance(each, FilterMetrics)]
        return sum(visit.visits for each in filters for visit in each.visits)

    @property
    def partial_results(self) -> int:
        """Combinations of some but not all items that were made."""
        kept = sum(each.work.partial_results for each in self.trees)
        asked = sum(each.partial_results or 0 for each in self.joins)
        found = sum(part.found for each in self.joins for part in each.inputs)
        return kept + asked or found - self.results


def run_once(
    program: Program, batches: Sequence[Mapping[str, TypedBatch]], strategy: Strategy, warm: int = 2
) -> Timed:
    """Push the micro-batches through an engine, results counted; the first `warm` ones are not timed."""
    engine = cqc.Engine(program, strategy=strategy, collect=False, keep_past=False)
    for batch in batches[:warm]:
        engine.push_typed(batch)
    started = time.process_time()
    for batch in batches[warm:]:
        engine.push_typed(batch)
    seconds = time.process_time() - started
    return Timed(seconds, sum(engine.result_counts().values()), engine.measure())


def program_of(declared: str, queries: Sequence[str]) -> Program:
    """A program of declarations and queries."""
    return cqc.compile(declared + ";\n".join(queries))


def tuples_in(batches: Sequence[Mapping[str, TypedBatch]], warm: int = 2) -> int:
    """How many tuples are in the micro-batches that are timed."""
    return sum(len(rows) for batch in batches[warm:] for rows in batch.values())


def in_turns(settings: Mapping[str, Callable[[], Timed]], repeats: int) -> dict[str, Timed]:
    """Every setting so many times, in turns; the run of each that took the least CPU time."""
    runs: dict[str, list[Timed]] = {name: [] for name in settings}
    for _ in range(repeats):
        for name, setting in settings.items():
            runs[name].append(setting())
    found = {name: min(own, key=lambda each: each.cpu_s) for name, own in runs.items()}
    expected = next(iter(found.values())).results
    for name, each in found.items():
        if each.results != expected:
            raise AssertionError(f"{name}: {each.results} results, not {expected}")
    return found


def verdict(found: Mapping[str, Timed], auto: str, forced: Sequence[str]) -> str:
    """How the setting that adapts stands beside the best and the worst of the forced ones."""
    best = min(forced, key=lambda name: found[name].cpu_s)
    worst = max(forced, key=lambda name: found[name].cpu_s)
    own = found[auto].cpu_s
    return (
        f"{auto}: {own / found[best].cpu_s:.2f} of the time of the best forced setting ({best}), "
        f"{found[worst].cpu_s / own:.1f}x faster than the worst ({worst})."
    )


def record(
    folder: Path, heading: str, sections: Sequence[str], charts: Mapping[str, str], *, quick: bool
) -> str:
    """The text of a benchmark; a full run writes it to results.md in the folder, with the charts beside it."""
    text = "\n\n".join([machine(), *sections])
    if not quick:
        for name, chart in charts.items():
            (folder / f"{name}.svg").write_text(chart, encoding="utf-8")
        (folder / "results.md").write_text(f"{heading}\n\n{text}\n", encoding="utf-8")
    return text


def section(*parts: str) -> str:
    """Paragraphs, tables and charts, one below the other."""
    return "\n\n".join(parts)


def shown(name: str) -> str:
    """A chart of the record, as Markdown shows it."""
    return f"![{name}]({name}.svg)"


__all__ = [
    "Strategy",
    "Timed",
    "in_turns",
    "line_chart",
    "record",
    "run_once",
    "section",
    "shown",
    "verdict",
]
