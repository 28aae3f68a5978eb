"""A thousand alerts over the readings of a hundred thousand devices; the same conditions as plain queries.

Each alert has a threshold of its own near the top of what devices measure, so that a reading is bad for about one of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

STREAM = "CREATE STREAM readings (ts TIMESTAMP, device BIGINT, value DOUBLE, WATERMARK FOR ts AS ts - 2 SECONDS);\n"
DEVICES, ROWS_PER_BATCH = 100_000, 20_000
_BASE_US = 1_700_000_000_000_000
_SPAN = 0.2  # of 100, in which the thresholds are


def _threshold(number: int, count: int) -> float:
    return 100.0 - _SPAN + _SPAN * number / count


def filters(count: int) -> str:
    """The conditions as plain queries."""
    return "".join(
        f"CREATE QUERY f{number} AS SELECT device, value FROM readings WHERE value > {_threshold(number, count):.6f};\n"
        for number in range(count)
    )


def alerts(count: int) -> str:
    """The same conditions as alerts, with every clause in some of them."""
    made = []
    for number in range(count):
        clauses = "PER device NO DATA AFTER 10 MINUTES"
        clauses += " FOR 5 SECONDS" if number % 4 == 1 else ""
        clauses += " CLEAR WHEN value < 50" if number % 4 == 2 else ""
        clauses += " KEEP FIRING 10 SECONDS ONCE EVERY 1 MINUTE" if number % 4 == 3 else ""
        made.append(
            f"CREATE ALERT a{number} SEVERITY 'warning' AS SELECT device, value FROM readings"
            f" WHERE value > {_threshold(number, count):.6f} {clauses};\n"
        )
    return "".join(made)


def batches(rows: int, seed: int = 0) -> list[pa.RecordBatch]:
    """Readings of random devices, 20,000 a second."""
    rng = np.random.default_rng(seed)
    ts = _BASE_US + np.arange(rows) * (1_000_000 // ROWS_PER_BATCH)
    table = pa.table(
        {
            "ts": pa.array(ts).cast(pa.timestamp("us", "UTC")),
            "device": rng.integers(0, DEVICES, rows),
            "value": rng.random(rows) * 100.0,
        }
    )
    return [
        table.slice(at, ROWS_PER_BATCH).combine_chunks().to_batches()[0]
        for at in range(0, rows, ROWS_PER_BATCH)
    ]
