"""Tables of PostgreSQL, by `psycopg` (the extra `postgres`).

    WITH (format = 'postgres', dsn = ENV('PG'), table = 'readings')                                   read once
    WITH (format = 'postgres', dsn = ENV('PG'), table = 'readings', growing = 'id', poll = '1 s')    and what is added

A stream without `growing` is the table as it is, in the order of event time. With it rows are read in the order of that column, and a run
that follows its input (`--follow`, `cqc serve`) asks for those above the last one every now and then. Rows are kept (`spooled`) with the
value of that column, so that a new start goes on behind the last row it has. A table of the program is read in one go (`read_table`).
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.source_formats import seconds_of
from cqc.runtime.errors import RunError
from cqc.runtime.receivers.database_rows import quoted, quoted_table
from cqc.runtime.receivers.secret_values import revealed, without_secrets
from cqc.runtime.sources.formats.jsonl import JsonLinesReader
from cqc.runtime.sources.spooled import Piece, SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier

_POLL_S = 1.0
_PATIENCE_S = 10
_AT_ONCE = 10_000
_MARK = "_cqc_growing"  # the field that the growing column is kept in where it is not declared


class PostgresFeed(SpooledFeed):
    """The feed of a stream that is a table of a database.

    Raises:
        RunError: when the table cannot be read.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        spool: Path | None,
        *,
        follow: bool,
        done: Mapping[str, Place],
        warn: Callable[[str], None],
    ) -> None:
        rows = PostgresRows(relation, follow=follow, warn=warn)
        super().__init__(name, relation, rows, spool, done=done)


class PostgresRows:
    """Rows of a table as JSON lines, which the server makes.

    Raises:
        RunError: when the server cannot be reached, or has no such table.
    """

    answers = False

    def __init__(self, relation: Relation, *, follow: bool, warn: Callable[[str], None]) -> None:
        self._table = PostgresTable(relation)
        self._follow = follow
        self._warn = warn
        self._closed = threading.Event()
        self._last: str | None = None  # the value of the growing column that was reached
        self._with_last: Counter[bytes] = Counter()  # the rows that have it

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """What the table holds, and for one that is followed what comes after it."""
        try:
            if self._table.growing is None:
                yield from map(Piece, self._table.all_after(earlier.rows))
                return
            self._go_on_after(earlier.last_file)
            while not self._closed.is_set():
                yield from self._added()
                if not self._follow:
                    return
                self._closed.wait(self._table.poll_s)
        finally:
            self._table.close()

    def close(self) -> None:
        """Let the reading end."""
        self._closed.set()

    def _added(self) -> Iterator[Piece]:
        """Rows from the last value on, without those that came before. Those of one value are handed out together."""
        held: list[bytes] = []
        came: Counter[bytes] = Counter()
        handed_out = self._last, self._with_last.copy()
        try:
            for value, line in self._table.from_value(self._last):
                if self._closed.is_set():
                    return
                if value != self._last:
                    if len(held) >= _AT_ONCE:
                        yield Piece(b"".join(held))
                        held, handed_out = [], (self._last, self._with_last)
                    self._last, self._with_last, came = value, Counter(), Counter()
                came[line] += 1
                if came[line] > self._with_last[line]:
                    self._with_last[line] += 1
                    held.append(line)
        except RunError as error:
            if not self._follow:
                raise
            self._last, self._with_last = handed_out  # what was held is asked for again
            self._warn(f"{error}; asking again")
            return
        if held:
            yield Piece(b"".join(held))

    def _go_on_after(self, last_file: Path | None) -> None:
        """Find the last value, and the rows that have it, in what was kept: rows of one value are in one file."""
        if last_file is None:
            return
        for line in reversed(last_file.read_bytes().splitlines(keepends=True)):
            value = self._table.mark_of(line)
            if self._last is None:
                self._last = value
            if value != self._last:
                return
            self._with_last[line] += 1


class PostgresTable:
    """A table and how it is asked; it connects again where the connection broke.

    Raises:
        RunError: when the server cannot be reached, or has no such table.
    """

    def __init__(self, relation: Relation) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise RunError(
                f"{relation.name} is read from PostgreSQL, which needs `pip install 'cqc[postgres]'`"
            ) from error
        self._psycopg: Any = psycopg
        self._relation = relation
        options = self._options = revealed(relation.options, relation.folder)
        self._dsn, self._name = options.get("dsn", ""), options.get("table", "")
        if not self._dsn or not self._name:
            raise RunError(
                f"{relation.name} needs WITH (format = 'postgres', dsn = '...', table = 'name')"
            )
        self.growing = options.get("growing")
        self.poll_s = seconds_of(options.get("poll", "")) or _POLL_S
        self._connection: Any = None
        self._mark = ""
        self._find_columns()

    def all_after(self, rows: int) -> Iterator[bytes]:
        """All rows but the first so many, in the order of event time and then of all columns."""
        order = ", ".join(self._order)
        for found in self._asked(
            f"SELECT {self._row} FROM {self._from} ORDER BY {order} OFFSET %s", (rows,)
        ):
            yield b"".join(text.encode() + b"\n" for (text,) in found)

    def from_value(self, value: str | None) -> Iterator[tuple[str, bytes]]:
        """Rows from a value of the growing column on, in its order, with the value as JSON has it."""
        name = self._name_of(self.growing or "")
        column = quoted(name)
        where = f"{column} IS NOT NULL"
        if value is not None:
            where = f"{column} >= CAST(%s AS {self._types[name]})"
        ask = f"SELECT to_json({column}) #>> '{{}}', {self._row} FROM {self._from} WHERE {where} ORDER BY {column}"
        for found in self._asked(ask, () if value is None else (value,)):
            for mark, text in found:
                yield mark, f"{text}\n".encode()

    def mark_of(self, line: bytes) -> str:
        """The value of the growing column in a row that was kept."""
        row: dict[str, Any] = json.loads(line, parse_int=str, parse_float=str)
        return str(row[self._mark])

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _asked(self, ask: str, values: tuple[Any, ...]) -> Iterator[list[tuple[str, ...]]]:
        """The rows of a question, some at a time, all of one instant."""
        try:
            with self._connected().transaction(), self._connection.cursor("cqc_rows") as cursor:
                cursor.execute(ask, values)
                while found := cursor.fetchmany(_AT_ONCE):
                    yield found
        except self._psycopg.Error as error:
            self.close()
            raise self._cannot_read(error) from error

    def _connected(self) -> Any:
        if self._connection is None:
            self._connection = self._psycopg.connect(
                self._dsn, connect_timeout=_PATIENCE_S, autocommit=True
            )
            # Times come as this one writes them.
            self._connection.execute("SET TimeZone = 'UTC'")
            self._connection.execute("SET DateStyle = 'ISO'")
            self._connection.execute("SET extra_float_digits = 1")
        return self._connection

    def _find_columns(self) -> None:
        """What the table has, and how a row is asked for."""
        self._from = quoted_table(self._name)
        try:
            described = self._connected().execute(
                "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute"
                " WHERE attrelid = CAST(%s AS regclass) AND attnum > 0 AND NOT attisdropped",
                (self._from,),
            )
            self._types: dict[str, str] = dict(described.fetchall())
        except self._psycopg.Error as error:
            self.close()
            raise self._cannot_read(error) from error
        fields: dict[str, str] = {}
        self._order: list[str] = []
        for column in sorted(self._relation.declared, key=self._is_time, reverse=True):
            key = column.keys[0]
            name = self._name_of(key)
            text = quoted(name)
            if self._types[name] == "bytea":
                text = f"translate(encode({text}, 'base64'), E'\\n', '')"
            fields[key] = text
            by_text = self._types[name] in ("json", "xml", "point")
            self._order.append(f"CAST({text} AS text)" if by_text else text)
        if self.growing is not None:
            growing = self._name_of(self.growing)
            known = (key for key in fields if self._name_of(key) == growing)
            self._mark = next(known, _MARK)
            fields[self._mark] = quoted(growing)
        named = ", ".join(f"{text} AS {quoted(key)}" for key, text in fields.items())
        self._row = f"CAST((SELECT row_to_json(r) FROM (SELECT {named}) AS r) AS text)"

    def _is_time(self, column: Any) -> bool:
        at = self._relation.event_time
        return at is not None and column is self._relation.columns[at]

    def _name_of(self, key: str) -> str:
        """What the table calls a column: the same, or the same in another case."""
        if key in self._types:
            return key
        for name in self._types:
            if name.lower() == key.lower():
                return name
        self.close()
        raise RunError(
            f"cannot read {self._relation.name} from PostgreSQL: table {self._name} has no column {key}"
        )

    def _cannot_read(self, error: Exception) -> RunError:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        text = f"cannot read {self._relation.name} from PostgreSQL: {reason}"
        return RunError(without_secrets(text, self._relation.options, self._options))


def read_table(relation: Relation) -> Iterator[TypedBatch]:
    """The rows of a table of the program.

    Raises:
        RunError: when they cannot be read.
    """
    table = PostgresTable(relation)
    try:
        for lines in table.all_after(0):
            yield JsonLinesReader(relation).read(lines)
    finally:
        table.close()
