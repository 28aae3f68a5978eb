"""Commands that answer the same rules, run in turns from the command line, and compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from cqc.benchmarks.harness.side_by_side import PEERS, ROOT, TIME_LIMIT_S
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LAUNCH = Path(__file__).with_name("launch.py")
_MODULES = "cqc.benchmarks.engine.rules.peers"
CQC = str(Path(sys.executable).with_name("cqc"))


@dataclass(frozen=True)
class Command:
    """A command line; `{out}` stands for the file of its results. `rivals` must find the same."""

    words: tuple[str, ...]
    cores: int = 0
    rivals: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Measured:
    """The runs of one command: medians of CPU seconds, wall seconds and peak memory."""

    runs: list[dict[str, float]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def median(self, name: str) -> float:
        """The median of one figure."""
        return float(median(run[name] for run in self.runs))

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the process tree."""
        return self.median("cpu_s")


def run_cqc(*programs: Path, cores: int = 0, rivals: str = "") -> Command:
    """`cqc run` as a user types it."""
    words = (CQC, "run", *map(str, programs), "--engine", "local", "--quiet", "--out", "{out}")
    return Command(words, cores, rivals)


def run_peer(module: str, *arguments: str, rivals: str) -> Command:
    """A peer in its own environment."""
    return Command((str(PEERS), "-m", f"{_MODULES}.{module}", *arguments, "{out}"), 0, rivals)


def in_turns(commands: Mapping[str, Command], repeats: int) -> dict[str, Measured]:
    """Every command so many times, in turns; the answers of rivals must agree in every run.

    Raises:
        RunError: when a command fails, or finds something else than another one.
    """
    found = {name: Measured() for name in commands}
    answers: dict[str, tuple[str, dict[str, int]]] = {}
    for _ in range(repeats):
        for name, command in commands.items():
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / "found.jsonl"
                found[name].runs.append(launched(command, out))
                counts = counts_in(out)
            found[name].counts = counts
            print(
                f"  {name}: {found[name].runs[-1]['cpu_s']:.1f} CPU-s", file=sys.stderr, flush=True
            )
            if command.rivals:
                first, expected = answers.setdefault(command.rivals, (name, counts))
                check_same(first, expected, name, counts)
    return found


def launched(command: Command, out: Path) -> dict[str, float]:
    """One run, timed from outside."""
    words = [word.replace("{out}", str(out)) for word in command.words]
    shown = out.with_suffix(".log")
    launcher = [sys.executable, "-I", "-S", str(_LAUNCH), str(command.cores), str(shown), *words]
    finished = subprocess.run(
        launcher,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=TIME_LIMIT_S,
        cwd=ROOT,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "", **command.environment},
    )
    result: dict[str, float] = json.loads(finished.stdout)
    if result["code"]:
        told = shown.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise RunError(f"`{' '.join(words)}` failed: {told[-1] if told else result['code']}")
    return result


def counts_in(out: Path) -> dict[str, int]:
    """How many rows each rule found; rules that found none are not there."""
    counts: dict[str, int] = {}
    if out.exists():
        with out.open(encoding="utf-8") as file:
            for line in file:
                query = json.loads(line)["query"]
                counts[query] = counts.get(query, 0) + 1
    return counts


def check_same(one: str, expected: Mapping[str, int], other: str, found: Mapping[str, int]) -> None:
    """Two that answer the same rules must have found the same."""
    names = sorted({*expected, *found})
    wrong = [name for name in names if expected.get(name, 0) != found.get(name, 0)]
    if wrong:
        first = wrong[0]
        raise RunError(
            f"{other} and {one} differ in {len(wrong)} rules; {first}: {found.get(first, 0)} and {expected.get(first, 0)} rows"
        )


def rules_commands(folder: Path, form: str, *, peers: Sequence[str]) -> dict[str, Command]:
    """The engine and its peers over one file a stream."""
    rivals = "rules"
    commands = {"cqc": run_cqc(folder / f"several_{form}.cq", folder / "rules.cq", rivals=rivals)}
    told = {
        "by hand": ("floor", ()),
        "Polars, a select a rule": ("polars_rules", ("1",)),
        "Polars, ten rules a select": ("polars_rules", ("10",)),
        "DuckDB, ten rules a statement": ("duckdb_rules", ("10",)),
        "SQLite, a statement a rule": ("sqlite_rules", ()),
    }
    for name in peers:
        module, more = told[name]
        commands[name] = run_peer(module, str(folder), form, *more, rivals=rivals)
    return commands


PEER_NAMES = (
    "by hand",
    "Polars, a select a rule",
    "Polars, ten rules a select",
    "DuckDB, ten rules a statement",
    "SQLite, a statement a rule",
)
