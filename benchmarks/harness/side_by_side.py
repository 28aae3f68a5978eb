"""What the join benchmarks share: micro-batches for the engine, measurements in processes of their own, and the table.

Every figure is CPU time of one process with one thread, so that engines can be compared on a busy machine. Peers live in an
environment of their own (`make peers`); where it is missing their rows say so.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.columns.columns import Column
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import TypedBatch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.types import ColumnType

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / ".peers" / "bin" / "python"
TIME_LIMIT_S = 1_800


def micro_batches(
    streams: Mapping[str, Mapping[str, Any]], types: Mapping[str, ColumnType], batch_us: int
) -> list[dict[str, TypedBatch]]:
    """The streams cut by event time, as sources hand them on; `types` by column name."""
    last = max(int(columns["ts"][-1]) for columns in streams.values())
    edges = np.arange(0, last + batch_us + 1, batch_us)
    batches: list[dict[str, TypedBatch]] = [{} for _ in edges[1:]]
    for name, columns in streams.items():
        cuts = np.searchsorted(columns["ts"], edges).tolist()
        for at, batch in enumerate(batches):
            begin, end = cuts[at], cuts[at + 1]
            if begin < end:
                parts = tuple(
                    Column(types[column], values[begin:end]) for column, values in columns.items()
                )
                batch[name] = TypedBatch(parts, columns["ts"][begin:end], end - begin)
    return batches


def measure(module: str, *arguments: str, peers: bool = False) -> dict[str, Any] | None:
    """One measurement in a process of its own; None when the peers' environment is missing."""
    python = str(PEERS) if peers else sys.executable
    if peers and not PEERS.exists():
        return None
    environment = {**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = f"python -m {' '.join([module, *arguments])}"
    try:
        finished = subprocess.run(
            [python, "-m", module, *arguments],
            capture_output=True,
            text=True,
            timeout=TIME_LIMIT_S,
            check=False,
            env=environment,
            cwd=ROOT,
        )
    except subprocess.TimeoutExpired as error:
        raise RunError(f"`{command}` has not ended after {TIME_LIMIT_S} s") from error
    if finished.returncode:
        raise RunError(f"`{command}` failed: {_last_words(finished)}")
    result: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return result


def _last_words(finished: subprocess.CompletedProcess[str]) -> str:
    """Why a process failed: the last exception it shows, else its exit code."""
    shown = re.findall(r"^[\w.]+(?:Error|Exception): .+$", finished.stderr, re.MULTILINE)
    return shown[-1] if shown else f"exit code {finished.returncode}"


@dataclass(frozen=True)
class Contestant:
    """A measurement that can be repeated: a module, its arguments, and the environment it lives in."""

    module: str
    arguments: tuple[str, ...]
    peers: bool = False


def interleaved(
    contestants: Mapping[str, Contestant], repeats: int
) -> dict[str, dict[str, Any] | None]:
    """For each contestant its run of median CPU time; the runs of all of them take turns, so that they share the weather."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in contestants}
    for _ in range(repeats):
        for name, each in contestants.items():
            found = measure(each.module, *each.arguments, peers=each.peers)
            if found is not None:
                runs[name].append(found)
    return {name: _median_run(each) for name, each in runs.items()}


def _median_run(runs: list[dict[str, Any]]) -> dict[str, Any] | None:
    ordered = sorted(runs, key=lambda each: float(each["cpu_s"]))
    return ordered[len(ordered) // 2] if ordered else None


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def bars(title: str, figures: Mapping[str, float], unit: str) -> str:
    """A plot in text: one bar a contestant, as long as its figure."""
    most = max(figures.values(), default=1.0)
    width = max((len(name) for name in figures), default=0)
    lines = [title, "```"]
    for name, figure in figures.items():
        lines.append(
            f"{name:<{width}} {'#' * max(1, round(50 * figure / most)):<50} {figure:,.3g} {unit}"
        )
    return "\n".join([*lines, "```"])


def machine() -> str:
    """Where and when: cores, load and date, for the record."""
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    return f"{os.cpu_count()} cores, load {load}, Python {sys.version.split()[0]}, {time.strftime('%Y-%m-%d')}"
