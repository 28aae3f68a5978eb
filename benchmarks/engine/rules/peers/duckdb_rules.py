"""The rules in DuckDB: `python -m cqc.benchmarks.engine.rules.peers.duckdb_rules FOLDER FORMAT RULES_A_STATEMENT OUT`.

Written for speed: only the columns that rules read, small letters made once while a stream is read into a table, and DuckDB's
own functions for contains, starts and ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from cqc.benchmarks.engine.rules.peers.found import Found, by_stream, needed_columns
from cqc.benchmarks.engine.rules.peers.sql_rules import SMALL, condition_of
from cqc.benchmarks.engine.rules.workload.rules_file import read_rules

if TYPE_CHECKING:
    from cqc.benchmarks.engine.rules.workload.rules import Rule


def read_stream(connection: Any, name: str, path: Path, columns: dict[str, bool]) -> None:
    """A stream as a table: columns in small letters, and as they are where a rule asks for that."""
    kept = [
        each for each, as_it_is in columns.items() if as_it_is and each not in ("host", "record_id")
    ]
    selected = ["ts", "host", "record_id", *kept]
    selected += [f"lower({each}) AS {SMALL}{each}" for each in columns]
    if path.suffix == ".parquet":
        source = f"read_parquet('{path}')"
    else:
        types = ", ".join(
            f"{each}: 'VARCHAR'" for each in dict.fromkeys(["host", "record_id", *columns])
        )
        source = f"read_json('{path}', format = 'newline_delimited', columns = {{ts: 'TIMESTAMP', {types}}})"
    connection.execute(f"CREATE TABLE {name} AS SELECT {', '.join(selected)} FROM {source}")


def main(folder: Path, form: str, together: int, out: str) -> None:
    """Read, answer and write."""
    rules = read_rules(folder)
    needed = needed_columns(rules)
    connection = duckdb.connect()
    ending = "parquet" if form == "parquet" else "jsonl"
    found = Found(out)
    for stream, own in by_stream(rules).items():
        read_stream(connection, stream, folder / "several" / f"{stream}.{ending}", needed[stream])
        for at in range(0, len(own), together):
            _answer(connection, stream, own[at : at + together], found)
        connection.execute(f"DROP TABLE {stream}")
    found.close()


def _answer(connection: Any, stream: str, rules: list[Rule], found: Found) -> None:
    """Several rules by one statement: each row says which of them it is for."""
    if len(rules) == 1:
        where = condition_of(rules[0], "duckdb")
        rows = connection.execute(f"SELECT ts, host, record_id FROM {stream} WHERE {where}")
        found.add(rules[0].name, rows.fetchall())
        return
    conditions = [condition_of(rule, "duckdb") for rule in rules]
    flags = ", ".join(f"coalesce({each}, FALSE) AS r{at}" for at, each in enumerate(conditions))
    every = " OR ".join(f"r{at}" for at in range(len(rules)))
    statement = f"SELECT * FROM (SELECT ts, host, record_id, {flags} FROM {stream}) WHERE {every}"
    rows = connection.execute(statement).fetchall()
    for at, rule in enumerate(rules):
        found.add(rule.name, [row[:3] for row in rows if row[3 + at]])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
