"""Siddhi beside cqc: a recorded input replayed through a Siddhi application, with its CPU time and number of results.

Siddhi comes as the Java archives inside the wheel of PySiddhi (`make peers`). They are used without its Python part, so that
no event crosses into another language while the clock runs. An application is plain text; `filters` and `joins` write the
workloads of those benchmarks in Siddhi's language.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.benchmarks.engine.filters.workload import Query as Filter
    from cqc.benchmarks.engine.joins.workload import Query as Join

    Columns = Mapping[str, NDArray[np.int64]]  # the first is the event time in microseconds

ROOT = Path(__file__).resolve().parents[3]
_DRIVER = Path(__file__).with_name("Replay.java")
_JARS = ".peers/lib/python3*/site-packages/__PySiddhiProxy/target/lib"
_LONGEST_S = 1_800


def replay(
    application: str, streams: Mapping[str, Columns], repeats: int = 3
) -> dict[str, Any] | None:
    """CPU seconds (median of all runs but the first), tuples and results; None without Siddhi or a Java compiler."""
    jars = next(iter(ROOT.glob(_JARS)), None)
    java = _java()
    if jars is None or java is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        text, events = Path(folder) / "application.siddhi", Path(folder) / "events"
        text.write_text(application, encoding="utf-8")
        _recorded(streams).tofile(events)
        command = [
            java,
            "-XX:+UseSerialGC",
            "-cp",
            f"{jars}/*",
            str(_DRIVER),
            str(text),
            str(events),
            str(repeats + 1),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_LONGEST_S
        )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    found["cpu_s"] = statistics.median(found["cpu_s"][1:])
    return found


def _java() -> str | None:
    """A Java that compiles the driver as it starts it: a JDK, not a mere runtime."""
    home = os.environ.get("JAVA_HOME")
    found = f"{home}/bin/javac" if home else shutil.which("javac")
    return str(Path(found).with_name("java")) if found and Path(found).exists() else None


def _recorded(streams: Mapping[str, Columns]) -> NDArray[np.int64]:
    """All events in the order of their times, as the driver reads them."""
    rows: list[tuple[int, ...]] = []
    for number, columns in enumerate(streams.values()):
        values = (each.tolist() for each in columns.values())
        rows.extend((number, *row) for row in zip(*values, strict=True))
    rows.sort(key=lambda row: row[1])
    flat = [len(rows), *(value for row in rows for value in row)]
    return np.array(flat, ">i8")


def filters(queries: Sequence[Filter], columns: int) -> str:
    """Conjunctions of ranges over one stream, each counted."""
    declared = ", ".join(f"c{at} long" for at in range(columns))
    lines = [f"-- in S {columns + 1}", *(f"-- out q{at}" for at in range(len(queries)))]
    lines.append(f"define stream S (ts long, {declared});")
    for number, query in enumerate(queries):
        parts = []
        for each in query:
            parts += [] if each.low is None else [f"c{each.column} >= {int(each.low)}L"]
            parts += [] if each.high is None else [f"c{each.column} <= {int(each.high)}L"]
        lines.append(f"from S[{' and '.join(parts)}] select ts insert into q{number};")
    return "\n".join(lines)


def joins(queries: Sequence[Join], columns: Mapping[str, Sequence[str]]) -> str:
    """Three-way window joins: two joins of two streams each, which is what Siddhi has, with the exact windows checked."""
    lines = [f"-- in {name} {len(of)}" for name, of in columns.items()]
    lines += [f"-- out q{number}" for number in range(len(queries))]
    lines.append("@app:playback")  # Siddhi's clock is the events'
    for name, of in columns.items():
        lines.append(f"define stream {name} ({', '.join(f'{column} long' for column in of)});")
    for number, query in enumerate(queries):
        first, second, third = query.least
        window = query.window_s * 1_000_000
        kept = f"#window.time({query.window_s * 1000 + 1} milliseconds)"
        lines.append(
            f"from R[x >= {first}L]{kept} as r join S[x >= {second}L]{kept} as s on r.a == s.a "
            f"and s.ts - r.ts <= {query.s_after_r_s * 1_000_000}L and r.ts - s.ts <= {window}L "
            f"select r.ts as rts, s.ts as sts, s.b as b, r.x as rx, s.x as sx insert into pairs{number};"
        )
        lines.append(
            f"from pairs{number}{kept} as p join T[x >= {third}L]{kept} as t on p.b == t.b "
            f"and t.ts - p.sts <= {query.t_after_s_s * 1_000_000}L and p.sts - t.ts <= {window}L "
            f"and t.ts - p.rts <= {window}L and p.rts - t.ts <= {window}L "
            f"select p.rx as rx, p.sx as sx, t.x as tx insert into q{number};"
        )
    return "\n".join(lines)
