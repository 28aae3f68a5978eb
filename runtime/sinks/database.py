"""Results in a table of a database, exactly once: a row is keyed by program, micro-batch and its number in that.

A micro-batch that is handed over again after a crash writes the same keys, so it replaces itself; all of it is one
transaction. Any DB-API connection to a database that knows `ON CONFLICT` will do (SQLite, PostgreSQL).

    connection = sqlite3.connect("results.db")
    cqc.spark.start(program, spark, sources, on_batch=DatabaseSink(connection, "icu").write)
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_TABLE = """CREATE TABLE IF NOT EXISTS cqc_results (
    program TEXT, batch BIGINT, number BIGINT, query TEXT, result TEXT,
    PRIMARY KEY (program, batch, number))"""
_CLEAR = "DELETE FROM cqc_results WHERE program = {0} AND batch = {0} AND number >= {0}"
_PUT = """INSERT INTO cqc_results (program, batch, number, query, result) VALUES ({0}, {0}, {0}, {0}, {0})
    ON CONFLICT (program, batch, number) DO UPDATE SET query = excluded.query, result = excluded.result"""


class DatabaseSink:
    """Writes the tables of micro-batches.

    Args:
        connection: a DB-API connection.
        program: a name that tells this run's results from others in the same table.
        placeholder: how the database's driver writes a parameter.
    """

    def __init__(self, connection: Any, program: str, placeholder: str = "?") -> None:
        self._connection = connection
        self._program = program
        self._clear, self._put = _CLEAR.format(placeholder), _PUT.format(placeholder)
        connection.cursor().execute(_TABLE)
        connection.commit()

    def write(self, batch: int, tables: Mapping[str, pa.Table]) -> None:
        """Write the results of a micro-batch, in place of what it wrote before."""
        rows = [
            (self._program, batch, number, query, json.dumps(row, default=str, ensure_ascii=False))
            for number, (query, row) in enumerate(
                (query, row) for query, table in tables.items() for row in table.to_pylist()
            )
        ]
        cursor = self._connection.cursor()
        try:
            cursor.execute(self._clear, (self._program, batch, len(rows)))
            cursor.executemany(self._put, rows)
        except BaseException:
            self._connection.rollback()
            raise
        self._connection.commit()
