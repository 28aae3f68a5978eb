"""Results in a table of PostgreSQL, exactly once: COPY and the sink's place in one transaction.

COPY has no `ON CONFLICT`. Where some of the rows are there already, written by a run without this checkpoint, they go to a temporary table first
and from there to the user's, without those whose `_id` is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.database_rows import (
    OWN_COLUMNS,
    by_columns,
    create_places,
    create_table,
    put_place,
    quoted,
    quoted_table,
    row_of,
    select_place,
    table_mismatch,
)
from cqc.runtime.receivers.receiver import RefusedError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Columns, Sent, Setting

_TYPES = {
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE PRECISION",
    "STRING": "TEXT",
    "BOOLEAN": "BOOLEAN",
    "TIMESTAMP": "TIMESTAMPTZ",
    "INTERVAL": "DOUBLE PRECISION",
    "DATE": "DATE",
    "DECIMAL": "NUMERIC",
    "JSON": "JSONB",
}
_NO_TEXT = "\x00"  # which PostgreSQL cannot hold


class PostgresReceiver:
    """Writes to one table."""

    at_once = 10_000

    def __init__(self, setting: Setting) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise RunError(
                "a sink of type postgres needs the package psycopg: pip install 'cqc[postgres]'"
            ) from error
        self._psycopg: Any = psycopg
        self._place = setting.program, setting.sink, setting.run
        self._name = setting.options["table"]
        self._table = quoted_table(self._name)
        self._creates = setting.options.get("create", "true").lower() == "true"
        self._known: dict[
            Columns, str | None
        ] = {}  # with the table that rows go to first, if they do
        try:
            self._connection = psycopg.connect(setting.options["dsn"], connect_timeout=5)
            with self._connection.transaction():
                self._connection.execute(create_places(_TYPES))
        except psycopg.Error as error:
            raise UnreachableError(f"PostgreSQL cannot be reached ({_first(error)})") from error

    def stored(self) -> int | None:
        try:
            with self._connection.transaction():
                found = self._connection.execute(select_place("%s"), self._place).fetchone()
        except self._psycopg.Error as error:
            raise UnreachableError(_first(error)) from error
        return 0 if found is None else int(found[0])

    def send(self, results: Sequence[Sent]) -> None:
        errors = self._psycopg.errors
        try:
            with self._connection.transaction():
                for columns, own in by_columns(results):
                    self._copy(columns, own)
                self._connection.execute(put_place("%s"), (*self._place, results[-1].number))
        except (errors.UndefinedColumn, errors.DatatypeMismatch, errors.UndefinedTable) as error:
            raise table_mismatch(self._name, results[0].query, _first(error)) from error
        except (errors.DataError, errors.IntegrityError) as error:
            raise RefusedError(f"PostgreSQL did not take the results ({_first(error)})") from error
        except self._psycopg.Error as error:
            raise UnreachableError(f"PostgreSQL did not answer ({_first(error)})") from error

    def close(self) -> None:
        self._connection.close()

    def _copy(self, columns: Columns, results: Sequence[Sent]) -> None:
        names = ", ".join(map(quoted, (*OWN_COLUMNS, *columns.names)))
        if columns not in self._known:
            if self._creates:
                self._connection.execute(create_table(self._table, columns, _TYPES))
            self._known[columns] = None
        rows = [[_clean(cell) for cell in row_of(each)] for each in results]
        if self._known[columns] is None:
            try:
                with self._connection.transaction():
                    self._write(self._table, names, rows)
                return
            except self._psycopg.errors.UniqueViolation:
                # Somebody has written some of them before, without this checkpoint. It will not be the only time.
                aside = quoted(f"_cqc_aside_{len(self._known)}")
                self._connection.execute(
                    f"CREATE TEMP TABLE IF NOT EXISTS {aside} ON COMMIT DELETE ROWS AS "
                    f"SELECT {names} FROM {self._table} WITH NO DATA"
                )
                self._known[columns] = aside
        aside = self._known[columns] or ""
        self._write(aside, names, rows)
        self._connection.execute(
            f"INSERT INTO {self._table} ({names}) SELECT {names} FROM {aside} ON CONFLICT (_id) DO NOTHING"
        )
        self._connection.execute(f"TRUNCATE {aside}")

    def _write(self, table: str, names: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)


def _clean(cell: Any) -> Any:
    return cell.replace(_NO_TEXT, "") if isinstance(cell, str) and _NO_TEXT in cell else cell


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
