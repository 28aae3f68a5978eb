"""Results in a table of PostgreSQL, exactly once: COPY and the sink's place in one transaction.

COPY has no `ON CONFLICT`. Where some of the rows are there already, written by a run without this checkpoint, they go to a temporary table first
and from there to the user's, without those whose `_id` is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.copy_text import copy_text
from cqc.runtime.receivers.database_rows import (
    OWN_COLUMNS,
    create_places,
    create_table,
    put_place,
    quoted,
    quoted_table,
    select_place,
    table_mismatch,
)
from cqc.runtime.receivers.receiver import RefusedError, UnreachableError
from cqc.runtime.receivers.sent_rows import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Columns, Sent, Setting
    from cqc.runtime.receivers.sent_rows import SentRows

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


class PostgresReceiver:
    """Writes to one table."""

    at_once = 25_000  # a commit waits for the disk

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
        errors, rows = self._psycopg.errors, rows_of(results)
        try:
            with self._connection.transaction():
                self._put(rows)
                self._connection.execute(put_place("%s"), (*self._place, results[-1].number))
        except (errors.UndefinedColumn, errors.DatatypeMismatch, errors.UndefinedTable) as error:
            raise table_mismatch(self._name, results[0].query, _first(error)) from error
        except (errors.DataError, errors.IntegrityError) as error:
            self._known.clear()
            refused = self._refused(rows)
            if not refused:  # together they are
                refused = rows.numbers.tolist()
            raise RefusedError(
                f"PostgreSQL did not take the results ({_first(error)})", refused=refused
            ) from error
        except self._psycopg.Error as error:
            raise UnreachableError(f"PostgreSQL did not answer ({_first(error)})") from error

    def close(self) -> None:
        self._connection.close()

    def _refused(self, rows: SentRows) -> list[int]:
        """The numbers of those that PostgreSQL does not take; nothing is written. Halves are tried, then their halves."""
        errors = self._psycopg.errors
        try:
            with self._connection.transaction(force_rollback=True):
                self._put(rows)
        except (errors.DataError, errors.IntegrityError):
            self._known.clear()
            if len(rows) == 1:
                return rows.numbers.tolist()  # type: ignore[no-any-return]  # of numpy
            half = len(rows) // 2
            return self._refused(rows[:half]) + self._refused(rows[half:])
        self._known.clear()  # tables that were made for it are gone
        return []

    def _put(self, rows: SentRows) -> None:
        for columns, own in rows.by_columns():
            self._copy(columns, own)

    def _copy(self, columns: Columns, rows: SentRows) -> None:
        names = ", ".join(map(quoted, (*OWN_COLUMNS, *columns.names)))
        if columns not in self._known:
            if self._creates:
                self._connection.execute(create_table(self._table, columns, _TYPES))
            self._known[columns] = None
        text = copy_text(rows, len(columns.names))
        if self._known[columns] is None:
            try:
                with self._connection.transaction():
                    self._write(self._table, names, text)
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
        self._write(aside, names, text)
        self._connection.execute(
            f"INSERT INTO {self._table} ({names}) SELECT {names} FROM {aside} ON CONFLICT (_id) DO NOTHING"
        )
        self._connection.execute(f"TRUNCATE {aside}")

    def _write(self, table: str, names: str, text: memoryview) -> None:
        with self._connection.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as copy:
            copy.write(text)


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
