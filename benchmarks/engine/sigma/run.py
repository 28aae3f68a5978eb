"""3,000 Sigma rules from files to results: `cqc bench sigma`."""

from __future__ import annotations

from pathlib import Path

from cqc.benchmarks.engine.sigma.workload import prepared
from cqc.benchmarks.harness.side_by_side import Contestant, interleaved, machine, table

_MODULE = "cqc.benchmarks.engine.sigma.measure"
_TIMED = (
    "Generated rules and events of the shapes that public rules and recorded Windows events have ({events}x of 648,360 events). "
    "CPU-seconds, median of {repeats} runs in processes of their own. Converting counts reading the YAML files, pySigma, and writing the "
    "program. From JSON everything is counted, the start of the engine included; from Arrow the first twentieth is not. A changed "
    "rule is unregistered and registered in a running engine (wall time). Correlations: a thousand of four kinds over these rules, which are "
    "delivered too."
)
_KINDS = ("convert", "json", "arrow", "correlations")


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    scale, repeats = (0.1, 1) if quick else (1.0, 3)
    folder = str(prepared(scale, 3000))
    found = interleaved({kind: Contestant(_MODULE, (kind, folder)) for kind in _KINDS}, repeats)
    rows: list[list[str]] = []
    convert, json, arrow, correlations = (found[kind] for kind in _KINDS)
    if convert is not None:
        rows.append(["convert 3,000 rules", f"{convert['cpu_s']:.1f} s", "10 s"])
        rows.append(["compile them", f"{convert['compile_s']:.1f} s", "2 s"])
    if json is not None:
        rows.append(["events a CPU-second from JSON", f"{json['rate']:,.0f}", "100,000"])
    if arrow is not None:
        rows.append(["events a CPU-second from Arrow", f"{arrow['rate']:,.0f}", "200,000"])
        rows.append(["a changed rule is live after", f"{arrow['change_s']:.3f} s", "1 s"])
    if arrow is not None and correlations is not None:
        ratio = correlations["cpu_s"] / arrow["cpu_s"]
        rows.append(["with 1,000 correlation rules", f"{ratio:.1f}x", "2x"])
    text = "\n\n".join(
        [
            machine(),
            _TIMED.format(events=scale, repeats=repeats),
            table(["3,000 Sigma rules", "now", "wanted"], rows),
        ]
    )
    if not quick:
        heading = "# Sigma rules\n\n`cqc bench sigma`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text
