"""Thousands of detection rules over recorded events, from files to results: `cqc bench rules`.

Rules and events have the shape of real ones (`workload/`): 3,000 rules of mostly text patterns without case, a quarter of them with
NOT groups, some lists of thousands; 648,360 events of eleven streams, 600 MB of JSON lines, most rules silent. Every figure is
CPU time of one process tree, from the command to the last result written: start, reading, compiling, answering, delivery.
Beside cqc: Polars, DuckDB and SQLite as one would write them by hand for speed, and the least the work can cost. All of them must
find the same rows. `python -m cqc.benchmarks.engine.rules.run --help` runs parts, or other sizes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from cqc.benchmarks.engine.rules import report
from cqc.benchmarks.engine.rules.contest import (
    CQC,
    PEER_NAMES,
    Command,
    Measured,
    in_turns,
    rules_commands,
    run_cqc,
    run_peer,
)
from cqc.benchmarks.harness.side_by_side import PEERS, ROOT, TIME_LIMIT_S, machine, measure
from cqc.runtime.errors import RunError

PARTS = ("json", "parquet", "wide", "cores", "sequences", "start", "steady", "trials")
_STEADY = 2_000_000 / 648_360
_PREPARE = "cqc.benchmarks.engine.rules.workload.prepare"


@dataclass(frozen=True)
class Plan:
    """How much is measured, and how often."""

    scale: float = 1.0
    rules: int = 3_000
    repeats: int = 3
    micro_batches: int = 20_000
    parts: tuple[str, ...] = PARTS
    peers: tuple[str, ...] = PEER_NAMES


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    plan = Plan(scale=0.1, repeats=1, micro_batches=2_000) if quick else Plan()
    text = run_plan(plan)
    if not quick:
        heading = "# Rules over events\n\n`cqc bench rules`"
        Path(__file__).with_name("results.md").write_text(
            f"{heading}\n\n{text}\n", encoding="utf-8"
        )
    return text


def run_plan(plan: Plan) -> str:
    """Measure the parts that are asked for; figures are also kept as JSON beside the workload."""
    if not PEERS.exists():
        made = subprocess.run(["make", "-s", "peers"], cwd=ROOT, check=False, timeout=900)
        if made.returncode:
            plan = replace(plan, peers=())
    folder = prepared(plan)
    figures: dict[str, Any] = {"machine": machine(), "plan": asdict(plan)}
    for part in plan.parts:
        print(f"{part}:", file=sys.stderr, flush=True)
        figures[part] = _MEASURES[part](plan, folder)
        (folder / "figures.json").write_text(json.dumps(figures, indent=1, default=asdict))
    return report.text_of(figures, folder)


def prepared(plan: Plan, *, steady: bool = False) -> Path:
    """The folder of the workload; made in a process of its own, which needs much memory."""
    scale = plan.scale * _STEADY if steady else plan.scale
    arguments = ["--scale", f"{scale:g}", "--rules", str(plan.rules)]
    command = [sys.executable, "-m", _PREPARE, *arguments, *(["--parquet-only"] if steady else [])]
    finished = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, text=True, timeout=TIME_LIMIT_S, cwd=ROOT
    )
    return Path(finished.stdout.strip())


def _rules(plan: Plan, folder: Path, form: str) -> dict[str, Measured]:
    return in_turns(rules_commands(folder, form, peers=plan.peers), plan.repeats)


def _wide(plan: Plan, folder: Path) -> dict[str, Measured]:
    """One stream of 201 columns beside eleven of their own."""
    commands = {}
    for form in ("json", "parquet"):
        several = (folder / f"several_{form}.cq", folder / "rules.cq")
        commands[f"several, {form}"] = run_cqc(*several, rivals="rules")
        wide = (folder / f"wide_{form}.cq", folder / "rules_wide.cq")
        commands[f"one stream, {form}"] = run_cqc(*wide, rivals="rules")
    return in_turns(commands, plan.repeats)


def _cores(plan: Plan, folder: Path) -> dict[str, Measured]:
    """The same on one core and on all of them."""
    several = (folder / "several_json.cq", folder / "rules.cq")
    commands = {"one core": run_cqc(*several, cores=1), "all cores": run_cqc(*several)}
    return in_turns(commands, plan.repeats)


def _sequences(plan: Plan, folder: Path) -> dict[str, Measured]:
    commands = {
        "cqc": run_cqc(folder / "sequences_json.cq", folder / "sequences.cq", rivals="sequences")
    }
    if plan.peers:
        peer = run_peer("duckdb_sequences", str(folder), rivals="sequences")
        commands["DuckDB, offline, a statement a rule"] = peer
    return in_turns(commands, plan.repeats)


def _start(plan: Plan, folder: Path) -> dict[str, Measured]:
    """What a start costs: six rows, warm; all rules checked; six rows with no kernel compiled before."""
    checked = (CQC, "check", str(folder / "several_json.cq"), str(folder / "rules.cq"))
    commands = {"six rows": run_cqc(folder / "six.cq"), "compile": Command(checked)}
    in_turns({"six rows, to warm up": commands["six rows"]}, 1)
    found = in_turns(commands, max(3, plan.repeats))
    kernels = folder / "kernels"
    subprocess.run(["rm", "-rf", str(kernels)], check=True)
    cold = replace(commands["six rows"], environment={"NUMBA_CACHE_DIR": str(kernels)})
    return found | in_turns({"six rows, first run ever": cold}, 1)


def _steady(plan: Plan, _: Path) -> dict[str, Any]:
    folder = prepared(plan, steady=True)
    found = measure("cqc.benchmarks.engine.rules.steady", str(folder))
    assert found is not None
    return found


def _trials(plan: Plan, _: Path) -> dict[str, Any]:
    """Each shape of a join in a process of its own."""
    module = "cqc.benchmarks.engine.rules.trials"
    found: dict[str, Any] = {}
    for shape in report.SHAPES:
        found[shape] = measure(module, shape, str(plan.micro_batches))
        if found[shape]["results"] != found["auto"]["results"]:
            raise RunError(f"--join {shape} finds something else than auto")
    return found


_MEASURES: dict[str, Any] = {
    "json": lambda plan, folder: _rules(plan, folder, "json"),
    "parquet": lambda plan, folder: _rules(plan, folder, "parquet"),
    "wide": _wide,
    "cores": _cores,
    "sequences": _sequences,
    "start": _start,
    "steady": _steady,
    "trials": _trials,
}


def main() -> None:
    """Parts of the benchmark, or other sizes."""
    parser = argparse.ArgumentParser(prog="python -m cqc.benchmarks.engine.rules.run")
    parser.add_argument("--scale", type=float, default=0.1, help="1 is 648,360 events")
    parser.add_argument("--rules", type=int, default=3_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--micro-batches", type=int, default=20_000)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--peers", nargs="*", choices=PEER_NAMES, default=PEER_NAMES)
    given = parser.parse_args()
    plan = Plan(
        given.scale,
        given.rules,
        given.repeats,
        given.micro_batches,
        tuple(given.parts),
        tuple(given.peers),
    )
    print(run_plan(plan))


if __name__ == "__main__":
    main()
