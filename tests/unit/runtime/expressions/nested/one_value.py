"""What an expression gives on one row with values of all kinds."""

from __future__ import annotations

import cqc

STREAM = (
    "CREATE STREAM s (ts BIGINT, n BIGINT, x ARRAY<BIGINT>, y ARRAY<STRING>, m MAP<STRING, BIGINT>, "
    "u STRUCT<name: STRING, age: BIGINT>, us ARRAY<STRUCT<name: STRING>>, d DECIMAL(10, 2), b BINARY, r DOUBLE);"
)
ROW = {
    "ts": 1,
    "n": 10,
    "x": [3, 1, None],
    "y": ["b", None, "a"],
    "m": {"k": 5, "z": None},
    "u": {"name": "ann", "age": None},
    "us": [{"name": "bob"}, None],
    "d": "12.50",
    "b": b"\x01\xff",
    "r": 0.125,
}


def value(text: str) -> object:
    """The value of an expression on the row."""
    engine = cqc.Engine(cqc.compile(f"{STREAM} SELECT {text} AS v FROM s;"))
    engine.push("s", [ROW])
    (result,) = engine.drain()
    return result.row["v"]
