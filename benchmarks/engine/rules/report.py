"""The tables of the rules benchmark, and what must be reached beside what was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.engine.rules.workload import shapes
from cqc.benchmarks.harness.side_by_side import bars, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from cqc.benchmarks.engine.rules.contest import Measured

SHAPES = ("auto", "flat", "left-deep", "bushy")
_TITLES = {
    "json": "Rules over JSON lines, one file a stream",
    "parquet": "Rules over Parquet, one file a stream",
    "wide": "One stream of 201 columns beside eleven streams",
    "cores": "Rules over JSON lines, on one core and on all",
    "sequences": "Sequences: joins by host and process over ten streams",
    "start": "Start and compiling",
}
_FLOOR = "by hand"


def text_of(figures: Mapping[str, Any], folder: Path) -> str:
    """Everything that was measured."""
    plan = figures["plan"]
    sections = [
        figures["machine"],
        f"{plan['rules']:,} rules, {plan['scale']:g} of 648,360 events, medians of {plan['repeats']} runs in turns.",
    ]
    for part, title in _TITLES.items():
        if part in figures:
            sections += [f"## {title}", _measured(figures[part])]
    if "json" in figures:
        sections.append(_chart(figures["json"]))
    if "steady" in figures:
        sections.append(_steady(figures["steady"]))
    if "trials" in figures:
        sections.append(_trials(figures["trials"]))
    goals = [list(each) for each in goals_of(figures)]
    sections += ["## Must reach", table(["", "must reach", "measured", ""], goals)]
    sections += ["## The shape of the data", shape_table(folder, figures)]
    return "\n\n".join(sections)


def _measured(found: Mapping[str, Measured]) -> str:
    own = next(iter(found.values())).cpu_s
    rows = []
    for name, each in found.items():
        ratio = f"{each.cpu_s / own:.2f}"
        cells = [
            f"{each.cpu_s:.2f}",
            f"{each.median('wall_s'):.2f}",
            f"{each.median('peak_mb'):,.0f}",
        ]
        rows.append([name, *cells, ratio, f"{sum(each.counts.values()):,}"])
    return table(["", "CPU s", "wall s", "peak MB", "CPU, of the first", "rows found"], rows)


def _chart(found: Mapping[str, Measured]) -> str:
    return bars("JSON lines", {name: each.cpu_s for name, each in found.items()}, "CPU-s")


def _steady(found: Mapping[str, float]) -> str:
    return (
        "## From Arrow, in steady state\n\n"
        f"{found['events']:,.0f} events: {found['rate']:,.0f} events per CPU-second; before that {found['start_s']:.1f} CPU-s for "
        f"compiling and the first twentieth of the events."
    )


def _trials(found: Mapping[str, Mapping[str, float]]) -> str:
    rows = [
        [shape, *(f"{each[name]:.3f}" for name in ("cpu_s", "median_ms", "p99_ms", "most_ms"))]
        for shape, each in found.items()
    ]
    header = ["--join", "CPU s", "median ms", "99th percentile ms", "most ms"]
    title = "## Trials: CPU of one micro-batch, three-way joins of 10 queries"
    return f"{title}\n\n{table(header, rows)}"


def goals_of(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """What must be reached, what was measured, and whether it is enough."""
    for part, least in (("parquet", 5.0), ("json", 3.0)):
        if part in figures:
            yield from _against_peers(part, least, figures[part])
    if "steady" in figures:
        rate = figures["steady"]["rate"]
        yield _goal(
            "events per CPU-second from Arrow", "at least 200,000", f"{rate:,.0f}", rate >= 200_000
        )
    if "wide" in figures:
        for form in ("json", "parquet"):
            one, several = (figures["wide"][f"{each}, {form}"].cpu_s for each in ("one stream", "several"))  # fmt: skip
            yield _goal(f"one stream beside several, {form}", "at most 1.3x", f"{one / several:.2f}x", one <= 1.3 * several)  # fmt: skip
    if "sequences" in figures and len(figures["sequences"]) > 1:
        own, peer = (each.cpu_s for each in figures["sequences"].values())
        yield _goal(
            "sequences, less CPU than DuckDB offline", "2x", f"{peer / own:.2f}x", peer >= 2 * own
        )
    yield from _memory(figures)
    if "start" in figures:
        yield from _starting(figures["start"])
    if "cores" in figures:
        yield from _on_cores(figures["cores"])
    if "trials" in figures:
        yield from _trying(figures["trials"])


def _goal(name: str, wanted: str, measured: str, reached: bool) -> tuple[str, str, str, str]:
    return name, wanted, measured, "yes" if reached else "no"


def _against_peers(part: str, least: float, found: Mapping[str, Measured]) -> Iterator[tuple[str, str, str, str]]:  # fmt: skip
    peers = {name: each.cpu_s for name, each in found.items() if name not in ("cqc", _FLOOR)}
    if peers:
        best = min(peers, key=lambda name: peers[name])
        ratio = peers[best] / found["cqc"].cpu_s
        yield _goal(f"{part}, less CPU than the best peer ({best})", f"{least:g}x", f"{ratio:.2f}x", ratio >= least)  # fmt: skip


def _memory(figures: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    own = [figures[part]["cqc"] for part in ("json", "parquet", "sequences") if part in figures]
    own += list(figures.get("wide", {}).values())
    if own:
        most = max(each.median("peak_mb") for each in own)
        yield _goal(
            "memory of cqc, the most of all runs", "at most 400 MB", f"{most:,.0f} MB", most <= 400
        )


def _starting(found: Mapping[str, Measured]) -> Iterator[tuple[str, str, str, str]]:
    for name, most in (("six rows", 0.6), ("six rows, first run ever", 3.0), ("compile", 2.0)):
        each = found[name]
        spent = each.median("wall_s") if "ever" in name else each.cpu_s
        unit = "s" if "ever" in name else "CPU-s"
        yield _goal(f"{name}", f"at most {most:g} {unit}", f"{spent:.2f} {unit}", spent <= most)


def _on_cores(found: Mapping[str, Measured]) -> Iterator[tuple[str, str, str, str]]:
    one, every = found["one core"], found["all cores"]
    faster = one.median("wall_s") / every.median("wall_s")
    yield _goal("wall time on all cores beside one", "1.6x less", f"{faster:.2f}x", faster >= 1.6)
    more = every.cpu_s / one.cpu_s
    yield _goal("CPU on all cores beside one", "at most 1.1x", f"{more:.2f}x", more <= 1.1)


def _trying(found: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, str, str, str]]:
    auto = found["auto"]
    best = min(
        (each for name, each in found.items() if name != "auto"), key=lambda each: each["cpu_s"]
    )
    ratio = auto["p99_ms"] / best["p99_ms"]
    yield _goal("auto's 99th percentile beside the best fixed shape's", "at most 1.5x", f"{ratio:.2f}x", ratio <= 1.5)  # fmt: skip
    spike = auto["most_ms"] / auto["median_ms"]
    yield _goal(
        "auto's longest micro-batch beside its median", "at most 20x", f"{spike:.1f}x", spike <= 20
    )


def shape_table(folder: Path, figures: Mapping[str, Any]) -> str:
    """Ours beside the published ones, and whether within a fifth."""
    told = json.loads((folder / "shape.json").read_text())
    found = [shapes.Figure(**each) for each in told]
    plan = figures["plan"]
    counts = next(
        (figures[part]["cqc"].counts for part in ("json", "parquet") if part in figures), None
    )
    if counts is not None:
        found += shapes.hit_figures(counts, plan["rules"], plan["scale"])
    rows = [
        [each.name, _number(each.real), _number(each.ours), "" if each.fits else "off"]
        for each in found
    ]
    off = sum(not each.fits for each in found)
    return f"{len(found)} figures, {off} of them not within 20 %.\n\n" + table(["", "published", "here", ""], rows)  # fmt: skip


def _number(value: float) -> str:
    return f"{value:.2%}" if value < 1 else f"{value:,.4g}" if value < 100 else f"{value:,.0f}"
