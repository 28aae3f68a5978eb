"""Results in a table of an SQLite file, exactly once."""

from __future__ import annotations

import contextlib
import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.receivers.database_rows import (
    by_columns,
    create_places,
    create_table,
    insert_rows,
    put_place,
    quoted_table,
    row_of,
    select_place,
    table_mismatch,
)
from cqc.runtime.receivers.receiver import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Columns, Sent, Setting

_TYPES = {
    "BIGINT": "INTEGER",
    "DOUBLE": "REAL",
    "STRING": "TEXT",
    "BOOLEAN": "INTEGER",
    "TIMESTAMP": "TEXT",
    "INTERVAL": "REAL",
}
_DOES_NOT_FIT = ("no column", "datatype mismatch")


class SqliteReceiver:
    """Writes to one table of one file."""

    at_once = 5_000

    def __init__(self, setting: Setting) -> None:
        self._place = setting.program, setting.sink, setting.run
        self._name = setting.options["table"]
        self._table = quoted_table(self._name)
        self._creates = setting.options.get("create", "true").lower() == "true"
        self._known: set[Columns] = set()
        path = Path(setting.base) / setting.options["path"]
        try:
            self._connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute(create_places(_TYPES))
        except sqlite3.Error as error:
            raise UnreachableError(f"{path} cannot be opened ({error})") from error

    def stored(self) -> int | None:
        found = self._connection.execute(select_place("?"), self._place).fetchone()
        return 0 if found is None else int(found[0])

    def send(self, results: Sequence[Sent]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for columns, own in by_columns(results):
                if columns not in self._known and self._creates:
                    self._connection.execute(create_table(self._table, columns, _TYPES))
                self._known.add(columns)
                self._connection.executemany(
                    insert_rows(self._table, columns, "?"), map(_row_of, own)
                )
            self._connection.execute(put_place("?"), (*self._place, results[-1].number))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            if any(words in str(error) for words in _DOES_NOT_FIT):
                raise table_mismatch(self._name, results[0].query, error) from error
            raise UnreachableError(f"the database did not take the results ({error})") from error

    def close(self) -> None:
        self._connection.close()


def _row_of(result: Sent) -> list[Any]:
    """The values of a result; SQLite has no decimals, so they are texts with all their digits."""
    return [format(cell, "f") if isinstance(cell, Decimal) else cell for cell in row_of(result)]
