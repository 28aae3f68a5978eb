"""The service under load: `cqc bench serve`.

One process serves thousands of registered pull queries while one client pushes rows as fast as they are taken and many
others invoke, register and unregister. No request may fail, no row may be lost, and a tenth of the answers are judged.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.benchmarks.engine.serve.clients import Client, Outcome, ask, feed
from cqc.benchmarks.engine.serve.workload import Recorder, program_text, questions

if TYPE_CHECKING:
    from collections.abc import Iterator

_ROWS_PER_BATCH = 5_000
_START_S = 300.0
_PATIENCE_S = 240.0  # with a machine that is slow
_ENOUGH = 5  # requests of each kind, and answers judged, however short the run


@dataclass(frozen=True, slots=True)
class Load:
    """How much is asked of the service."""

    queries: int
    clients: int
    seconds: float


FULL = Load(10_000, 50, 180.0)
QUICK = Load(500, 10, 3.0)


@dataclass(frozen=True, slots=True)
class Report:
    """What happened."""

    load: Load
    rows: int
    rows_counted: int
    seconds: float
    other_load: float  # what else the machine did
    outcome: Outcome

    def text(self) -> str:
        """A table of requests and a line about rows."""
        lines = [
            "| request | number | a second | p50 ms | p99 ms | max ms |",
            "|---|---|---|---|---|---|",
        ]
        for kind, took in self.outcome.seconds.items():
            if not took:
                continue
            ordered = sorted(took)
            figures = [ordered[int(len(ordered) * part)] * 1e3 for part in (0.5, 0.99)]
            lines.append(
                f"| {kind} | {len(took):,} | {len(took) / self.seconds:,.0f} | {figures[0]:.1f} "
                f"| {figures[1]:.1f} | {ordered[-1] * 1e3:.1f} |"
            )
        load, wrong = self.load, self.outcome.wrong
        summary = (
            f"{load.queries:,} pull queries, {load.clients} clients, {self.seconds:.0f} s on {os.cpu_count()} cores "
            f"(load average {self.other_load:.0f} before the run): "
            f"{self.rows:,} rows pushed ({self.rows / self.seconds:,.0f} a second), {self.rows_counted:,} counted by "
            f"the service; {self.outcome.checked:,} answers judged, {len(wrong)} requests or answers wrong."
        )
        return "\n".join([*lines, "", summary, *wrong[:5]])


def run(*, quick: bool = False) -> str:
    """The table; the full run also records it in results.md beside this file."""
    text = measure(QUICK if quick else FULL).text()
    if not quick:
        Path(__file__).with_name("results.md").write_text(
            f"# The service under load\n\n`cqc bench serve`\n\n{text}\n", encoding="utf-8"
        )
    return text


def measure(load: Load) -> Report:
    """Put one service under load."""
    asked = questions(load.queries)
    other_load = os.getloadavg()[0]
    recorder = Recorder(_ROWS_PER_BATCH)
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.cq"
        program.write_text(program_text(asked), encoding="utf-8")
        with _serving(program) as address, ThreadPoolExecutor(load.clients + 1) as threads:
            started = time.perf_counter()
            clients = [Client(address) for _ in range(load.clients + 1)]
            running = [threads.submit(feed, clients[0], recorder, stop)]
            running += [
                threads.submit(ask, client, asked, recorder, stop, seed)
                for seed, client in enumerate(clients[1:])
            ]
            _wait(load, clients, running)
            stop.set()
            for each in running:
                each.result(timeout=_PATIENCE_S)
            outcome = _together([client.outcome for client in clients])
            seconds = time.perf_counter() - started
            with urllib.request.urlopen(f"{address}/health", timeout=60) as answer:
                counted = json.load(answer)["tuples"]
    return Report(load, recorder.rows, counted, seconds, other_load, outcome)


def _wait(load: Load, clients: list[Client], running: list[Future[None]]) -> None:
    """Until the time is over and every kind of request was made; or until a client gave up."""
    pause = threading.Event()
    started = time.perf_counter()
    while not any(each.done() for each in running):
        spent = time.perf_counter() - started
        done = _together([client.outcome for client in clients])
        enough = done.checked >= _ENOUGH and all(
            len(took) >= _ENOUGH for took in done.seconds.values()
        )
        if (enough and spent >= load.seconds) or spent > load.seconds + _PATIENCE_S:
            return
        pause.wait(0.1)


def _together(outcomes: list[Outcome]) -> Outcome:
    total = Outcome()
    for each in outcomes:
        for kind, took in each.seconds.items():
            total.seconds[kind] += took
        total.wrong += each.wrong
        total.checked += each.checked
    return total


@contextmanager
def _serving(program: Path) -> Iterator[str]:
    """A service in a process of its own; ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "cqc.cli.main", "serve", str(program), "--port", "0"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    watchdog = threading.Timer(_START_S, process.kill)
    watchdog.start()
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        watchdog.cancel()
        found = re.search(r"http://\S+", line)
        if found is None:
            raise RuntimeError(f"the service did not start: {line}{process.stderr.read()}")
        yield found[0]
    finally:
        watchdog.cancel()
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate(timeout=30)
