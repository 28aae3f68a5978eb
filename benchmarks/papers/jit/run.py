"""Clique joins with and without feedback: `cqc bench jit`.

The settings of the JIT paper's figures 10-17. REF is a tree without feedback, JIT the same tree with exact feedback, demand makes a
partial result only when all that it must meet is there, auto is what runs when nothing is said. First with the paper's nested-loop
joins in REF and JIT, then with hash joins. CPU seconds of one process; contestants take turns, medians.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.benchmarks.harness.plots import line_chart
from cqc.benchmarks.harness.side_by_side import machine, measure, table
from cqc.benchmarks.papers.jit.figures import BUSHY, DENSE, LEFT_DEEP, figures

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.benchmarks.papers.jit.figures import Figure
    from cqc.benchmarks.papers.jit.workload import Clique

_MEASURE, _PEERS = "cqc.benchmarks.papers.jit.measure", "cqc.benchmarks.papers.jit.peers"
_BATCH_S = 60.0
_FORMS = ("polars-batches", "duckdb-batches", "duckdb-offline")
_LOOPS_HOURS = 1.5  # of stream time for nested loops in the figures: three windows of the longest
_HEADER = ["", "", "CPU s", "partial results", "most rows between joins", "most bytes of the join", "results"]  # fmt: skip
Found = dict[str, dict[str, Any]]


def run(*, quick: bool = False) -> str:
    """The tables; the full run also draws the figures and records everything in results.md beside this file."""
    hours = 1.0 if quick else 5.0
    repeats = 1 if quick else 3
    sections = [
        machine(),
        f"{hours:g} h of stream time unless said, micro-batches of {_BATCH_S:g} s.",
    ]
    sections.append(_defaults(hours, repeats))
    sections.append(_peers(hours, repeats))
    if not quick:
        sections.append(_fast())
        sections += [_figure(each, hours) for each in figures()]
    sections.append(_NOTES)
    text = "\n\n".join(sections)
    if not quick:
        heading = "# Clique joins with and without feedback\n\n`cqc bench jit`"
        _beside("results.md", f"{heading}\n\n{text}\n")
    return text


def _defaults(hours: float, repeats: int) -> str:
    """The defaults of both kinds of plans, and a dense setting, in every mode."""
    rows: list[list[str]] = []
    for title, join, clique, loops in (
        ("bushy", "bushy", BUSHY, True),
        ("left-deep", "left-deep", LEFT_DEEP, True),
        ("dense, bushy", "bushy", DENSE, False),
        ("dense, left-deep", "left-deep", DENSE, False),
    ):
        names = {
            "REF": f"{join}:off",
            "JIT": f"{join}:exact",
            "JIT by Bloom filter": f"{join}:bloom",
        }
        names |= {
            "JIT where it pays": f"{join}:auto",
            "demand": f"{join}:demand",
            "auto": "auto:auto",
        }
        found = _cqc(replace(clique, hours=hours), names, repeats)
        rows += _rows(title, found)
        if loops:
            names = {"REF": f"{join}:off:loops", "JIT": f"{join}:exact:loops"}
            rows += _rows(f"{title}, nested loops", _cqc(replace(clique, hours=hours), names, 1))
    return "## Defaults\n\n" + table(_HEADER, rows)


def _rows(title: str, found: Found) -> list[list[str]]:
    results = {each["results"] for each in found.values()}
    assert len(results) == 1, f"{title}: the contestants found different results: {found}"
    return [
        [title, name, f"{each['cpu_s']:.2f}", f"{each['partial']:,}", f"{each['peak_rows']:,}",
         f"{each['peak_bytes']:,}", f"{each['results']:,}"]
        for name, each in found.items()
    ]  # fmt: skip


def _peers(hours: float, repeats: int) -> str:
    """What other engines take for the same micro-batches, and for everything at once."""
    rows = []
    for sources in (4, 6):
        clique = replace(BUSHY, sources=sources, hours=hours)
        found = _cqc(clique, {"auto": "auto:auto"}, repeats)["auto"]
        rows.append([f"N={sources}", "cqc", f"{found['cpu_s']:.2f}", "1", f"{found['results']:,}"])
        for form in _FORMS:
            taken = [_peer(form, clique) for _ in range(repeats)]
            times = sorted(each["cpu_s"] for each in taken if each is not None)
            if not times:
                rows.append([f"N={sources}", form, "not installed", "", ""])
                continue
            seconds = times[len(times) // 2]
            results = {each["results"] for each in taken if each is not None}
            assert results == {found["results"]}, f"{form} found {results}"
            ratio = f"{seconds / found['cpu_s']:.1f}"
            rows.append([f"N={sources}", form, f"{seconds:.2f}", ratio, f"{found['results']:,}"])
    header = ["", "", "CPU s", "times cqc", "results"]
    return "## Beside other engines\n\n" + table(header, rows)


def _peer(form: str, clique: Clique) -> dict[str, Any] | None:
    setting = (clique.sources, clique.window_s, clique.rate, clique.dmax, clique.hours, _BATCH_S)
    return measure(_PEERS, form, *(str(each) for each in setting), peers=True)


def _fast() -> str:
    """A thousand tuples a second and source, with a window as much shorter: what one core can take."""
    clique = replace(BUSHY, rate=1000.0, window_s=1.2, hours=1 / 60)
    names = {
        "REF": "bushy:off",
        "JIT": "bushy:exact",
        "demand": "bushy:demand",
        "auto": "auto:auto",
    }
    found = _cqc(clique, names, 3, batch_s=1.0)
    tuples = clique.sources * clique.rate * clique.hours * 3600
    rows = [
        [name, f"{each['cpu_s']:.2f}", f"{tuples / each['cpu_s']:,.0f}", f"{each['partial']:,}"]
        for name, each in found.items()
    ]
    text = "1,000 tuples a second and source for a minute, window 1.2 s, micro-batches of 1 s."
    header = ["", "CPU s", "tuples a CPU second", "partial results"]
    return f"## Fast streams\n\n{text}\n\n{table(header, rows)}"


def _figure(figure: Figure, hours: float) -> str:
    """One figure of the paper: a table and two charts."""
    series: dict[str, list[tuple[float, float]]] = {}
    memory: dict[str, list[tuple[float, float]]] = {}
    rows = []
    for value, clique in figure.points:
        join = figure.join
        hashed = {
            "REF": f"{join}:off",
            "JIT": f"{join}:exact",
            "JIT where it pays": f"{join}:auto",
            "demand": f"{join}:demand",
        }
        looped = {
            "REF, nested loops": f"{join}:off:loops",
            "JIT, nested loops": f"{join}:exact:loops",
        }
        found = _cqc(replace(clique, hours=hours), hashed, 1)
        found |= _cqc(replace(clique, hours=_LOOPS_HOURS), looped, 1)
        rows.append([f"{value:g}", *(f"{each['cpu_s']:.2f}" for each in found.values()),
                     *(f"{each['peak_bytes'] / 1e6:.1f}" for each in list(found.values())[:4])])  # fmt: skip
        for name, each in found.items():
            series.setdefault(name, []).append((value, each["cpu_s"]))
            memory.setdefault(name, []).append((value, each["peak_bytes"] / 1e6))
    cpu, peak = f"figure_{figure.number}_cpu.svg", f"figure_{figure.number}_memory.svg"
    _beside(cpu, line_chart(f"{figure.title}: CPU", figure.axis, "CPU s", series, log_y=True))
    _beside(peak, line_chart(f"{figure.title}: memory", figure.axis, "MB", memory, log_y=True))
    header = [
        figure.axis,
        *(f"{name}, CPU s" for name in series),
        *(f"{name}, MB" for name in list(series)[:4]),
    ]
    shown = f"![CPU]({cpu}) ![memory]({peak})"
    note = f"Nested loops: {_LOOPS_HOURS:g} h of stream time."
    return f"## {figure.title}\n\n{note}\n\n{table(header, rows)}\n\n{shown}"


def _cqc(
    clique: Clique, names: Mapping[str, str], repeats: int, batch_s: float = _BATCH_S
) -> Found:
    """The contestants by their names, measured in one process."""
    wide = "wide" if clique.wide_last else "narrow"
    setting: Sequence[object] = (
        repeats, clique.sources, clique.window_s, clique.rate, clique.dmax, clique.hours, wide, batch_s
    )  # fmt: skip
    found = measure(_MEASURE, *(str(each) for each in setting), *names.values())
    assert found is not None
    return {name: found[contestant] for name, contestant in names.items()}


def _beside(name: str, text: str) -> None:
    Path(__file__).with_name(name).write_text(text, encoding="utf-8")


_NOTES = """## Notes

- The paper reports more than 10x less CPU and up to 62% less memory for the bushy plans, with nested loops on both sides. JIT here asks
  before it makes even the first useless result, and marks pairs (its Type II), so hardly any partial result is made.
- The paper's protocol lets both sides of a bushy join wait for each other and then loses results. Here a row waits only
  for states to its right or of single sources, a pair only for base tuples: nothing is lost, and nothing is made twice.
- The bytes of the join are the arrays that it holds, with room to grow; base tuples are not among them. Demand keeps no state
  between joins. Its partial results are the pairs that went on.
- Where most partial results become results (dense) little can be held back; there a tree makes each partial result once, and auto,
  which is flat, finds it again for every arrival."""
