"""Rules of detection: so many events of one kind by one user within so long.

Each rule has a kind of its own, a least size, a frame of 10 seconds to 10 minutes and a number from 3 to 40. Kinds are as skewed as event
types in logs: a few are most of the events.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

STREAM = "CREATE STREAM logs (ts TIMESTAMP, user STRING, kind BIGINT, size DOUBLE, WATERMARK FOR ts AS ts - 2 SECONDS);\n"
KINDS, USERS, RATE = 1_000, 5_000, 5_000
_BASE_US = 1_700_000_000_000_000


def rules(count: int) -> str:
    """So many rules; the first one is of the most frequent kind."""
    made = []
    for number in range(count):
        seconds = 10 + (number * 37) % 590
        least = 3 + (number * 7) % 38
        made.append(
            f"CREATE QUERY r{number} AS SELECT ts, user, size FROM logs WHERE kind = {number % KINDS} AND size > {(number % 9) / 10}"
            f" QUALIFY COUNT(*) OVER (PARTITION BY user RANGE {seconds} SECONDS PRECEDING) >= {least};\n"
        )
    return "".join(made)


def batches(seconds: int, seed: int = 0) -> list[pa.RecordBatch]:
    """One micro-batch a second."""
    rng = np.random.default_rng(seed)
    count = seconds * RATE
    share = 1.0 / (np.arange(KINDS) + 3.0)
    kind = rng.choice(KINDS, count, p=share / share.sum())
    ts = _BASE_US + np.arange(count) * (1_000_000 // RATE)
    names = pa.array([f"user-{at}" for at in range(USERS)])
    user = names.take((USERS * rng.random(count) ** 2).astype(np.int64))
    table = pa.table(
        {
            "ts": pa.array(ts).cast(pa.timestamp("us", "UTC")),
            "user": user,
            "kind": kind,
            "size": rng.random(count),
        }
    )
    return [table.slice(at, RATE).combine_chunks().to_batches()[0] for at in range(0, count, RATE)]
