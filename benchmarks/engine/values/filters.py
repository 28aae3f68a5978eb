"""A thousand rules of one kind over one stream: `python -m cqc.benchmarks.engine.values.filters KIND RULES PACKETS`; prints one JSON object.

Each kind asks the same question of another column, and finds as many rows: a text, the same text in a struct, among the elements of an array, and
an address in a net. Packets have 10,000 rows; the first is not counted.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import pyarrow as pa

import cqc

DECLARED = "ts BIGINT, name STRING, e STRUCT<user: STRUCT<name: STRING>, n: BIGINT>, args ARRAY<STRING>, ip STRING"
CONDITIONS = {
    "equality": "name = 'host-{0}'",
    "nested": "e.user.name = 'host-{0}'",
    "membership": "array_contains(args, 'host-{0}')",
    "any element": "exists(args, a -> a ILIKE '%host-{0}')",
    "text": "name ILIKE '%host-{0}'",
    "network": "cidr_match(ip, '10.{1}.{2}.0/24')",
}
NAMES = 100_000  # so that a hundredth of the rows is found by a thousand rules


def packet(number: int, rows: int = 10_000) -> pa.Table:
    """One packet; a row says the same in all of its columns."""
    picked = np.random.default_rng(number).integers(0, NAMES, rows).tolist()
    names = [f"host-{each:06d}" for each in picked]
    return pa.table(
        {
            "ts": pa.array(np.arange(rows) + number * rows),
            "name": pa.array(names),
            "e": pa.array([{"user": {"name": name}, "n": 1} for name in names]),
            "args": pa.array([["-x", name, "--y"] for name in names]),
            "ip": pa.array(
                [f"10.{each // 256 % 256}.{each % 256}.{each // 65536 + 1}" for each in picked]
            ),
        }
    )


def main(kind: str, rules: int, packets: int) -> dict[str, Any]:
    """CPU microseconds a row."""
    texts = (CONDITIONS[kind].format(f"{at:06d}", at // 256 % 256, at % 256) for at in range(rules))
    queries = "".join(
        f"CREATE QUERY q{at} AS SELECT ts FROM s WHERE {text};" for at, text in enumerate(texts)
    )
    engine = cqc.Engine(cqc.compile(f"CREATE STREAM s ({DECLARED}); {queries}"))
    fed = [packet(number) for number in range(packets + 1)]
    engine.push("s", fed[0])
    list(engine.drain())
    found = 0
    began = time.process_time()
    for each in fed[1:]:
        engine.push("s", each)
        found += sum(1 for _ in engine.drain())
    spent = time.process_time() - began
    return {"cpu_s": spent, "us": 1e6 * spent / (packets * 10_000), "results": found}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
