"""Thousands of filters over one stream: `cqc bench filters`.

Per-query counts for standing conjunctions over eight numbers and for rules over text, by this engine's grouped filter and by
others side by side: one hand-written Polars select, one DuckDB statement, NumPy query by query, the per-tuple form that CACQ
published, and Siddhi. Ratios are of CPU time, medians of interleaved turns in one process. The others live in an environment of
their own (`make peers`), which is made when it is not there.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.benchmarks.engine.filters import workload
from cqc.benchmarks.harness.siddhi import replay as siddhi

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Figures = dict[str, Any]
_ROOT = Path(__file__).resolve().parents[3]
_MICRO = ("Polars", "DuckDB", "NumPy per query")
_LONGEST_S = 7200
_NEVER_BELOW = "must be at least"


def run(*, quick: bool = False) -> str:
    """The tables; the full run also records them in results.md beside this file."""
    figures = _measure(quick)
    text = "\n".join(_sections(figures))
    if not quick:
        day = datetime.now(UTC).date().isoformat()
        heading = (
            f"# Filters\n\n`cqc bench filters` on {day}: {_machine()}, Python {platform.python_version()}, "
            f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the end.\n"
        )
        Path(__file__).with_name("results.md").write_text(f"{heading}\n{text}\n", encoding="utf-8")
    return text


def _measure(quick: bool) -> Figures:
    python = sys.executable if find_spec("polars") else _python_of_peers()
    arguments = [*(["--quick"] if quick else []), *([] if python else ["--alone"])]
    command = [python or sys.executable, "-m", "cqc.benchmarks.engine.filters.measure", *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, timeout=_LONGEST_S, cwd=_ROOT
    )
    figures: Figures = json.loads(done.stdout)
    figures["siddhi"] = _siddhi(1_000, 2_000 if quick else 20_000)
    figures["cold"] = None if quick else _first_use()
    return figures


def _python_of_peers() -> str | None:
    """The Python that has the peers, its environment made when it is missing; None when that fails."""
    python = _ROOT / ".peers" / "bin" / "python"
    if not python.exists():
        made = subprocess.run(["make", "-s", "peers"], cwd=_ROOT, check=False, timeout=900)
        if made.returncode:
            return None
    return str(python)


def _siddhi(queries: int, tuples: int) -> Figures | None:
    """The dense queries in Siddhi, event by event, which is how it works."""
    numbers = workload.tuples(tuples).astype(np.int64)
    columns = {"ts": np.arange(tuples) * 1000} | {f"c{at}": each for at, each in enumerate(numbers)}
    application = siddhi.filters(workload.dense_queries(queries), workload.COLUMNS)
    found = siddhi.replay(application, {"S": columns})
    return None if found is None else {"queries": queries, "rate": tuples / found["cpu_s"]}


def _first_use() -> Figures:
    """Seconds to compile every kernel on a machine that never ran them, and with the compiled ones at hand."""
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(2):
            started = time.perf_counter()
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            command = [sys.executable, "-m", "cqc.runtime.warm"]
            subprocess.run(command, check=True, timeout=900, env=environment, cwd=_ROOT)
            spent.append(time.perf_counter() - started)
    return {"first": spent[0], "second": spent[1]}


def _machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]} ({platform.machine()})" if names else platform.machine()


def _sections(figures: Figures) -> Iterator[str]:
    if figures["peers"]:
        yield from _peers(figures["peers"])
    else:
        yield "The peers are not installed (`make peers`): this engine alone.\n"
    if figures["siddhi"] and figures["peers"]:
        yield from _beside_siddhi(figures["siddhi"], figures["peers"][0]["cqc"])
    yield from _sizes(figures["sizes"])
    yield from _kernel(figures["sizes"][-1]["kernel"])
    if figures["text"]:
        yield from _text(figures["text"])
    yield from _live(figures["live"])
    if figures["cold"]:
        cold = figures["cold"]
        yield (
            f"Compiling every kernel takes {cold['first']:.0f} s on first use (`make` does it once), "
            f"loading them again {cold['second']:.1f} s, the start of Python included.\n"
        )


def _peers(rows: Sequence[Figures]) -> Iterator[str]:
    yield "## Side by side: tuples per CPU second, per-query counts, micro-batches of 10,000\n"
    names = [name for name in rows[0] if name not in ("queries", "doubles")]
    yield _line(["constants", "queries", *names])
    yield _line(["---"] * (len(names) + 2))
    for row in rows:
        yield _line([_kind(row), f"{row['queries']:,}", *(f"{row[name]:,.0f}" for name in names)])
    yield "\nHow many times less CPU this engine takes:\n"
    heads = ["best peer", "Polars' best batch size", "per tuple (CACQ)"]
    yield _line(["constants", "queries", *heads])
    yield _line(["---"] * 5)
    for row in rows:
        best = max(row[name] for name in _MICRO)
        large = max(row["Polars"], row["Polars, batches of 100,000"])
        wanted = 10 if row["queries"] <= 1_000 else 20
        cells = [
            f"{row['cqc'] / best:,.0f} ({_NEVER_BELOW} {wanted})",
            f"{row['cqc'] / large:,.0f} ({_NEVER_BELOW} 5)",
            f"{row['cqc'] / row['per tuple (CACQ)']:,.0f} ({_NEVER_BELOW} 500 at 10,000)",
        ]
        yield _line([_kind(row), f"{row['queries']:,}", *cells])
    yield ""


def _beside_siddhi(row: Figures, ours: float) -> Iterator[str]:
    yield (
        f"Siddhi, {row['queries']:,} queries, BIGINT: {row['rate']:,.0f} tuples per CPU second, "
        f"{ours / row['rate']:,.0f} times the CPU (in a Java process of its own, after warming).\n"
    )


def _kind(row: Figures) -> str:
    return "DOUBLE" if row["doubles"] else "BIGINT"


def _sizes(rows: Sequence[Figures]) -> Iterator[str]:
    yield "## By number of queries: tuples per CPU second in micro-batches of 10,000\n"
    names = ["dense", "selective", "selective, ranges only"]
    yield _line(["queries", *names, "dense / selective", "bytes a query"])
    yield _line(["---"] * 6)
    for row in rows:
        known = [name for name in names if name in row]
        rates = [f"{row[name]:,.0f} ({row[f'{name}: match']:.2%} match)" for name in known]
        rates += ["-"] * (len(names) - len(known))
        most = max(row[f"{name}: bytes a query"] for name in known)
        ratio = f"{row['dense'] / row['selective']:.2f}"
        yield _line([f"{row['queries']:,}", *rates, ratio, f"{most:,.0f}"])
    yield (
        "\nA selective query has an equality, by which the access index finds it. With ranges only the packet index "
        "answers, at its one cost.\n"
    )
    by_count = {row["queries"]: row for row in rows}
    if 1_000_000 in by_count:
        ratio = by_count[100_000]["dense"] / by_count[1_000_000]["dense"]
        yield f"time(1,000,000) / time(100,000), dense: {ratio:.1f} (at most 15)\n"
    yield from _plot(rows, names)


def _plot(rows: Sequence[Figures], names: Sequence[str]) -> Iterator[str]:
    """Bars on a logarithmic scale: every mark more is half as much again."""
    least = min(row[name] for row in rows for name in names if name in row)
    yield "```"
    for row in rows:
        for name in (name for name in names if name in row):
            length, ratio = 1, row[name] / least
            while ratio >= 1.5:
                length, ratio = length + 1, ratio / 1.5
            yield f"{row['queries']:>10,}  {name:<23} {'#' * length} {row[name]:,.0f} tuples/s"
    yield "```\n"


def _kernel(row: Figures) -> Iterator[str]:
    yield "## The kernel: rows of bits for dense queries, written to memory\n"
    share = row["write"] / row["fill"]
    yield (
        f"{row['queries']:,} queries on {row['tuples']} tuples: {row['write'] / 1e9:.1f} GB per CPU second, "
        f"{share:.0%} of filling the same memory ({row['fill'] / 1e9:.1f} GB/s; {_NEVER_BELOW} 35%).\n"
    )


def _text(row: Figures) -> Iterator[str]:
    yield "## Text: rules of contains, starts with and ends with over 20 columns\n"
    ratio = row["cqc"] / row["DuckDB"]
    yield (
        f"{row['rules']:,} rules: {row['cqc']:,.0f} tuples per CPU second, DuckDB in one statement {row['DuckDB']:,.0f}: "
        f"{ratio:,.0f} times less CPU ({_NEVER_BELOW} 20).\n"
    )


def _live(rows: Sequence[Figures]) -> Iterator[str]:
    yield "## While they run\n"
    names = ["add and remove", "register, then one tuple", "one tuple"]
    yield _line(["queries", *(f"{name}, us" for name in names)])
    yield _line(["---"] * 4)
    for row in rows:
        yield _line([f"{row['queries']:,}", *(f"{row[name] * 1e6:,.0f}" for name in names)])
    yield "\nAt most 50 us, 5,000 us (with 100,000 running) and 1,000 us (through 10,000 filters).\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
