"""Results in a database: a micro-batch that comes again replaces itself."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pyarrow as pa
import pytest

from cqc.runtime.sinks.database import DatabaseSink


def stored(connection: sqlite3.Connection) -> list[tuple[int, str, int]]:
    rows = connection.execute("SELECT batch, query, result FROM cqc_results ORDER BY batch, number")
    return [(batch, query, json.loads(result)["x"]) for batch, query, result in rows]


def test_a_micro_batch_that_comes_again_replaces_itself() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        sink = DatabaseSink(connection, "p")
        sink.write(0, {"a": pa.table({"x": [1, 2]}), "b": pa.table({"x": [3]})})
        sink.write(1, {"a": pa.table({"x": [4, 5]})})
        sink.write(1, {"a": pa.table({"x": [4]})})
        assert stored(connection) == [(0, "a", 1), (0, "a", 2), (0, "b", 3), (1, "a", 4)]


def test_a_micro_batch_is_there_whole_or_not_at_all() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        sink = DatabaseSink(connection, "p")
        sink.write(0, {"a": pa.table({"x": [1]})})
        connection.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON cqc_results WHEN NEW.number = 1"
            " BEGIN SELECT RAISE(ABORT, 'no'); END"
        )
        with pytest.raises(sqlite3.IntegrityError):
            sink.write(0, {"a": pa.table({"x": [7, 8]})})
        assert stored(connection) == [(0, "a", 1)]
