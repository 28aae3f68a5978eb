"""ShuffleBench's records and consumers.

A record has a hash, here a number from 0 to 1. A consumer wants the records of one range of it; how much of the records that is falls as
Zipf's law says, and all consumers together get 0.2 of each record. A consumer counts its records, and every tenth count is a
result.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

STREAM = "CREATE STREAM records (ts TIMESTAMP, hash DOUBLE, payload STRING);\n"
TOTAL, EVERY, RATE = 0.2, 10, 100_000
_BASE_US = 1_700_000_000_000_000


def consumers(count: int, seed: int = 0) -> str:
    """So many consumers."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, count + 1)
    share *= TOTAL / share.sum()
    begins = rng.random(count) * (1.0 - share)
    return "".join(
        f"CREATE QUERY c{at} AS SELECT ts, COUNT(*) OVER (ROWS UNBOUNDED PRECEDING) AS n FROM records"
        f" WHERE hash >= {begin!r} AND hash < {end!r} QUALIFY n % {EVERY} = 0;\n"
        for at, (begin, end) in enumerate(
            zip(begins.tolist(), (begins + share).tolist(), strict=True)
        )
    )


def batches(seconds: int, seed: int = 1) -> list[pa.RecordBatch]:
    """One micro-batch for half a second."""
    rng = np.random.default_rng(seed)
    count, size = seconds * RATE, RATE // 2
    texts = pa.array([f"{at:064x}" for at in range(1_000)])
    table = pa.table(
        {
            "ts": pa.array(_BASE_US + np.arange(count) * (1_000_000 // RATE)).cast(
                pa.timestamp("us", "UTC")
            ),
            "hash": rng.random(count),
            "payload": texts.take(rng.integers(0, len(texts), count)),
        }
    )
    return [table.slice(at, size).combine_chunks().to_batches()[0] for at in range(0, count, size)]
