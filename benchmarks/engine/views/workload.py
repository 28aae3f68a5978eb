"""Fifty views in ten towers of five levels, a thousand queries over their tops, and the same queries over the streams alone.

A tower filters readings, adds a column, joins them with orders of the same key within five seconds, and filters twice more. Half
of the queries filter its top; the other half join it with deliveries that come within two seconds.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

TOWERS = 10
QUERIES = 1_000
STREAMS = """
CREATE STREAM reading (ts TIMESTAMP, k BIGINT, x DOUBLE, y DOUBLE);
CREATE STREAM ordered (ts TIMESTAMP, k BIGINT, z DOUBLE);
CREATE STREAM delivery (ts TIMESTAMP, k BIGINT, w DOUBLE);
"""
KEYS = 2_000
RATE = 1_000  # tuples a second and stream


def views() -> str:
    """The fifty views."""
    made = []
    for n in range(TOWERS):
        made += [
            f"CREATE VIEW a{n} AS SELECT ts, k, x, y FROM reading WHERE x > {n / 100};",
            f"CREATE VIEW b{n} AS SELECT ts, k, x, x + y AS v FROM a{n} WHERE y < {1 - n / 100};",
            (
                f"CREATE VIEW c{n} AS SELECT b.k, b.v, o.z FROM b{n} b, ordered o WHERE b.k = o.k AND o.z > {n / 50}"
                " MAXWINDOW 5 SEC;"
            ),
            f"CREATE VIEW d{n} AS SELECT ts, k, v, z FROM c{n} WHERE v > 0.2;",
            f"CREATE VIEW e{n} AS SELECT ts, k, v, z FROM d{n} WHERE z < 0.95;",
        ]
    return "\n".join(made)


def over_views() -> str:
    """The queries over the tops of the towers."""
    made = []
    for number in range(QUERIES):
        n, most = number % TOWERS, _limit(number)
        if number % 2:
            made.append(f"SELECT e.k, e.v FROM e{n} e WHERE e.v > {most};")
        else:
            made.append(
                f"SELECT e.k, e.v, d.w FROM e{n} e, delivery d WHERE e.k = d.k AND e.v > {most}"
                " WINDOW d.ts BETWEEN e.ts AND e.ts + 2 SEC;"
            )
    return "\n".join(made)


def by_hand() -> str:
    """The same queries over the streams."""
    made = []
    for number in range(QUERIES):
        n, most = number % TOWERS, _limit(number)
        conditions = (
            f"a.x > {n / 100} AND a.y < {1 - n / 100} AND a.k = o.k AND o.z > {n / 50} AND a.x + a.y > 0.2"
            f" AND o.z < 0.95 AND a.x + a.y > {most}"
        )
        if number % 2:
            made.append(
                f"SELECT a.k, a.x + a.y AS v FROM reading a, ordered o WHERE {conditions} MAXWINDOW 5 SEC;"
            )
        else:
            made.append(
                f"SELECT a.k, a.x + a.y AS v, d.w FROM reading a, ordered o, delivery d WHERE {conditions} AND a.k = d.k"
                " WINDOW a.ts - o.ts BETWEEN -5 SEC AND 5 SEC AND d.ts >= a.ts AND d.ts >= o.ts"
                " AND (d.ts - a.ts <= 2 SEC OR d.ts - o.ts <= 2 SEC) MAXWINDOW 7 SEC;"
            )
    return "\n".join(made)


def _limit(number: int) -> float:
    return round(1.9 + 0.09 * (number * 7919 % QUERIES) / QUERIES, 6)


def batches(seconds: int) -> list[dict[str, pa.Table]]:
    """Micro-batches of one second."""
    random = np.random.default_rng(18)
    made = []
    for second in range(seconds):
        rows = {}
        for name, columns in (("reading", "xy"), ("ordered", "z"), ("delivery", "w")):
            times = np.sort(random.integers(0, 1_000_000, RATE)) + second * 1_000_000
            data = {"ts": pa.array(times, pa.timestamp("us", tz="UTC"))}
            data["k"] = pa.array(random.integers(0, KEYS, RATE))
            data |= {column: pa.array(random.random(RATE)) for column in columns}
            rows[name] = pa.table(data)
        made.append(rows)
    return made
