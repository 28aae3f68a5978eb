"""First seen, over the whole past: `python -m cqc.benchmarks.engine.absence.first_seen KEYS`.

Each key comes twice, a user and a host as text. Prints what is kept for a key, by the engine's own account and by how much the
process grew, as one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from mmap import PAGESIZE
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import cqc

_BATCH = 20_000
_HOSTS = 1_000
_PROGRAM = """
CREATE STREAM logins (ts TIMESTAMP, user STRING, host STRING);
CREATE QUERY first_seen AS SELECT n.user, n.host FROM logins n WHERE NOT EXISTS
(SELECT 1 FROM logins o WHERE o.user = n.user AND o.host = n.host WINDOW o.ts < n.ts);
"""


def measure(keys: int) -> dict[str, Any]:
    """Let all keys come, and come again."""
    engine = cqc.Engine(cqc.compile(_PROGRAM), keep_past=False)
    _push(engine, 0, min(_BATCH, keys))  # the start is not counted
    before, started = _resident_bytes(), time.process_time()
    found = 0
    for turn in range(2):
        for first in range(0, keys, _BATCH):
            _push(engine, turn * keys + first, min(_BATCH, keys - first), keys)
            found += sum(block.num_rows for block in engine.drain(to="arrow").values())
    (node,) = engine.absent.nodes
    return {
        "keys": keys,
        "results": found,
        "cpu_s": time.process_time() - started,
        "bytes_per_key": node.nbytes / keys,
        "grown_per_key": (_resident_bytes() - before) / keys,
    }


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * PAGESIZE


def _push(engine: cqc.Engine, first: int, count: int, keys: int | None = None) -> None:
    numbers = np.arange(first, first + count)
    own = numbers if keys is None else numbers % keys
    users = pa.array([f"user{each // 10}" for each in own.tolist()])
    hosts = pa.array([f"host{(each % 10) * 97 % _HOSTS}" for each in own.tolist()])
    times = pa.array(numbers, pa.timestamp("us", tz="UTC"))
    engine.push("logins", pa.table({"ts": times, "user": users, "host": hosts}))


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
