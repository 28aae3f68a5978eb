"""Results in a table of a DuckDB file, exactly once."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
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
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "STRING": "VARCHAR",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMPTZ",
    "INTERVAL": "DOUBLE",
    "DATE": "DATE",
    "DECIMAL": "DECIMAL",
    "JSON": "VARCHAR",
}


class DuckdbReceiver:
    """Writes to one table of one file; DuckDB lets one process at a time use it."""

    at_once = 5_000

    def __init__(self, setting: Setting) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise RunError(
                "a sink of type duckdb needs the package duckdb: pip install duckdb"
            ) from error
        self._error: Any = duckdb.Error
        self._does_not_fit: Any = duckdb.BinderException
        self._place = setting.program, setting.sink, setting.run
        self._name = setting.options["table"]
        self._table = quoted_table(self._name)
        self._creates = setting.options.get("create", "true").lower() == "true"
        self._known: set[Columns] = set()
        path = Path(setting.base) / setting.options["path"]
        try:
            self._connection = duckdb.connect(str(path))
            self._connection.execute(create_places(_TYPES))
        except duckdb.Error as error:
            raise UnreachableError(f"{path} cannot be opened ({error})") from error

    def stored(self) -> int | None:
        found = self._connection.execute(select_place("?"), self._place).fetchone()
        return 0 if found is None else int(found[0])

    def send(self, results: Sequence[Sent]) -> None:
        try:
            self._connection.execute("BEGIN")
            for columns, own in by_columns(results):
                if columns not in self._known and self._creates:
                    self._connection.execute(create_table(self._table, columns, _TYPES))
                self._known.add(columns)
                self._connection.executemany(
                    insert_rows(self._table, columns, "?"), [row_of(each) for each in own]
                )
            self._connection.execute(put_place("?"), (*self._place, results[-1].number))
            self._connection.execute("COMMIT")
        except self._error as error:
            with contextlib.suppress(self._error):
                self._connection.execute("ROLLBACK")
            if isinstance(error, self._does_not_fit):
                raise table_mismatch(self._name, results[0].query, error) from error
            raise UnreachableError(f"the database did not take the results ({error})") from error

    def close(self) -> None:
        self._connection.close()
