"""The sequence rules in DuckDB, offline: `python -m cqc.benchmarks.engine.rules.peers.duckdb_sequences FOLDER OUT`.

Everything is there before the first statement; only the columns that steps and keys need are read, small letters made once.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from cqc.benchmarks.engine.rules.peers.duckdb_rules import read_stream
from cqc.benchmarks.engine.rules.peers.sql_rules import atom_of
from cqc.benchmarks.engine.rules.workload.rules_file import read_sequences
from cqc.benchmarks.engine.rules.workload.sequence_rules import keys

if TYPE_CHECKING:
    from cqc.benchmarks.engine.rules.workload.sequence_rules import Sequence


def needed_columns(sequences: list[Sequence]) -> dict[str, dict[str, bool]]:
    """By stream the columns of steps and keys; whether they are needed as they are."""
    needed: dict[str, dict[str, bool]] = {}
    for each in sequences:
        for stream, atom in each.steps:
            columns = needed.setdefault(stream, {})
            columns[atom.column] = columns.get(atom.column, False) or atom.kind == "equal"
            columns.update(dict.fromkeys(keys(each), True))
    return needed


def statement_of(sequence: Sequence) -> str:
    """A sequence rule as a join."""
    aliases = "abcd"[: len(sequence.steps)]
    steps = list(zip(aliases, sequence.steps, strict=True))
    conditions = [atom_of(atom, "duckdb", f"{alias}.") for alias, (_, atom) in steps]
    for one, two in pairwise(aliases):
        conditions += [f"{one}.{key} = {two}.{key}" for key in keys(sequence)]
        conditions.append(f"{two}.ts > {one}.ts")
    conditions.append(f"{aliases[-1]}.ts <= a.ts + INTERVAL {sequence.window_s} SECOND")
    items = ", ".join(f"{stream} {alias}" for alias, (stream, _) in steps)
    outputs = ", ".join(f"{alias}.record_id AS {alias}_id" for alias in aliases)
    return (
        f"SELECT {aliases[-1]}.ts, a.host, {outputs} FROM {items} WHERE {' AND '.join(conditions)}"
    )


def main(folder: Path, out: str) -> None:
    """Read, answer and write."""
    sequences = read_sequences(folder)
    connection = duckdb.connect()
    for stream, columns in needed_columns(sequences).items():
        read_stream(connection, stream, folder / "sequences" / f"{stream}.jsonl", columns)
    with Path(out).open("w", encoding="utf-8") as file:
        for each in sequences:
            answer = connection.execute(statement_of(each))
            names = [column[0] for column in answer.description[1:]]
            for ts, *values in answer.fetchall():
                row = dict(zip(names, values, strict=True))
                file.write(json.dumps({"query": each.name, "ts": str(ts), "row": row}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
