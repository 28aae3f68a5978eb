"""Nexmark's 23 queries, each alone, all at once, and in a hundred variants: `cqc bench nexmark`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cqc.benchmarks.engine.nexmark.programs import NAMES
from cqc.benchmarks.engine.nexmark.published import FELDERA, FLINK, PROJECTIONS
from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MODULE = "cqc.benchmarks.engine.nexmark.measure"
_POLARS = (
    "q0",
    "q1",
    "q2",
    "q3",
    "q4",
    "q7",
    "q9",
    "q12",
    "q13",
    "q17",
    "q18",
    "q19",
    "q20",
    "q22",
)
_TIMED = (
    "Events per CPU-second of one process with one thread, {events:,} events in micro-batches of 50,000, to the rows of each query by column; queries "
    "with BEGIN-END (q4, q6, q9, q18, q19) are asked once at the end. Compiling and registering are not counted. cqc from Arrow in memory and from Parquet; "
    "DuckDB and Polars over all events at once from Arrow. Flink: its published figures per core (8 slots, RocksDB, 100M events); Feldera: "
    "its published table divided by its 16 cores; both as published, on other machines. Median of {repeats} runs in processes of "
    "their own, taken in turns."
)
_VARIED = (
    "A hundred variants of each query, {events:,} events: CPU-seconds of one and of all. Variants of queries that only project give "
    "a hundred times the rows or other rows of their own, so these are compared per result row."
)


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    events, repeats, variants = (200_000, 1, 10) if quick else (2_000_000, 3, 100)
    varied = 100_000 if quick else 500_000
    alone = _alone(events, repeats)
    everything = _engine("arrow", events, 1, *NAMES)
    together = interleaved({"all": everything}, repeats)["all"]
    parts = [
        machine(),
        _TIMED.format(events=events, repeats=repeats),
        _table(alone),
        _sentence(alone, together),
        _VARIED.format(events=varied),
        _variants(varied, variants, repeats),
    ]
    text = "\n\n".join(parts)
    if not quick:
        heading = "# Nexmark\n\n`cqc bench nexmark`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


Runs = dict[str, dict[str, Any] | None]


def _engine(source: str, events: int, variants: int, *names: str) -> Contestant:
    return Contestant(_MODULE, (source, str(events), str(variants), *names))


def _alone(events: int, repeats: int) -> dict[str, Runs]:
    found = {}
    for name in NAMES:
        contestants = {
            "arrow": _engine("arrow", events, 1, name),
            "parquet": _engine("parquet", events, 1, name),
            "duckdb": Contestant(_MODULE, ("duckdb", str(events), name)),
        }
        if name in _POLARS:
            contestants["polars"] = Contestant(_MODULE, ("polars", str(events), name))
        found[name] = interleaved(contestants, repeats)
    return found


def _table(alone: dict[str, Runs]) -> str:
    rows = []
    for name, runs in alone.items():
        speeds = {kind: _speed(each) for kind, each in runs.items()}
        flink, feldera = FLINK.get(name), FELDERA.get(name)
        times = f"{speeds['arrow'] / flink:.1f}" if flink else ""
        figures = [speeds["arrow"], speeds["parquet"], speeds["duckdb"], speeds.get("polars")]
        rows.append([name, *map(_shown, figures), _shown(flink), times, _shown(feldera)])
    header = [
        "query",
        "cqc, Arrow",
        "cqc, Parquet",
        "DuckDB",
        "Polars",
        "Flink",
        "times Flink",
        "Feldera",
    ]
    return table(header, rows)


def _sentence(alone: dict[str, Runs], together: dict[str, Any] | None) -> str:
    total = sum(_cpu(runs["arrow"]) for runs in alone.values())
    at_once = _cpu(together)
    return f"All 23 at once: {at_once:.2f} CPU-s, {at_once / total:.2f} of the sum of each alone ({total:.2f} CPU-s)."


def _variants(events: int, variants: int, repeats: int) -> str:
    rows = []
    for name in NAMES:
        found = interleaved(
            {
                "one": _engine("arrow", events, 1, name),
                "many": _engine("arrow", events, variants, name),
            },
            repeats,
        )
        one, many = found["one"], found["many"]
        assert one is not None
        assert many is not None
        ratio = _cpu(many) / _cpu(one)
        a_row = ratio * one["results"] / many["results"]
        rows.append(
            [
                name,
                f"{_cpu(one):.3f}",
                f"{_cpu(many):.3f}",
                f"{ratio:.1f}",
                f"{a_row:.2f}" if name in PROJECTIONS else "",
            ]
        )
    return table(["query", "one", f"{variants} variants", "times", "times per row"], rows)


def _cpu(run_: dict[str, Any] | None) -> float:
    assert run_ is not None
    return float(run_["cpu_s"])


def _speed(run_: dict[str, Any] | None) -> float:
    assert run_ is not None
    return float(run_["events"]) / float(run_["cpu_s"])


def _shown(figure: float | None) -> str:
    return "" if figure is None else f"{figure:,.0f}"
