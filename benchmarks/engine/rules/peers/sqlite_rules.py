"""The rules in SQLite: `python -m cqc.benchmarks.engine.rules.peers.sqlite_rules FOLDER FORMAT OUT`.

Arrow reads the files, since SQLite's own JSON functions take several times as long; a statement a rule over tables in memory.
"""

from __future__ import annotations

import sqlite3
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import re2

from cqc.benchmarks.engine.rules.peers.found import Found, by_stream, needed_columns
from cqc.benchmarks.engine.rules.peers.read_arrow import read_columns
from cqc.benchmarks.engine.rules.peers.sql_rules import SMALL, condition_of
from cqc.benchmarks.engine.rules.workload.rules_file import read_rules


@cache
def _compiled(pattern: str) -> Any:
    return re2.compile(pattern)


def _matches(pattern: str, value: str | None) -> bool | None:
    return None if value is None else _compiled(pattern).search(value) is not None


def read_stream(
    connection: sqlite3.Connection, name: str, path: Path, columns: dict[str, bool]
) -> None:
    """A stream as a table: columns in small letters, and as they are where a rule asks for that."""
    table = read_columns(path, ["ts", "host", "record_id", *columns])
    kept = [
        each for each, as_it_is in columns.items() if as_it_is and each not in ("host", "record_id")
    ]
    names = ["ts", "host", "record_id", *kept, *(SMALL + each for each in columns)]
    values = [table[each] for each in ["ts", "host", "record_id", *kept]]
    values[0] = values[0].cast("int64")
    values += [pc.utf8_lower(table[each]) for each in columns]
    connection.execute(f"CREATE TABLE {name} ({', '.join(names)})")
    places = ", ".join("?" * len(names))
    rows = zip(*(each.to_pylist() for each in values), strict=True)
    connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)


def main(folder: Path, form: str, out: str) -> None:
    """Read, answer and write."""
    rules = read_rules(folder)
    needed = needed_columns(rules)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.create_function("regexp", 2, _matches, deterministic=True)
    ending = "parquet" if form == "parquet" else "jsonl"
    found = Found(out)
    for stream, own in by_stream(rules).items():
        read_stream(connection, stream, folder / "several" / f"{stream}.{ending}", needed[stream])
        for rule in own:
            where = condition_of(rule, "sqlite")
            rows = connection.execute(f"SELECT ts, host, record_id FROM {stream} WHERE {where}")
            found.add(rule.name, rows)
        connection.execute(f"DROP TABLE {stream}")
    found.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
