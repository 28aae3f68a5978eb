"""What the receivers that are databases share: columns, values, and the table in which a sink's place is kept.

Rows and the place go into one transaction, so every result is there exactly once. The columns are `_id` (primary key), `_query`, `_ts`, `_alert`,
then those of the query; queries with the same columns may share a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.exact_values import cells_of, exact_value, json_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.receivers.receiver import Columns, Sent

OWN_COLUMNS = ("_id", "_query", "_ts", "_alert")
PLACES = "_cqc_sent"


def quoted(name: str) -> str:
    """A name as an SQL identifier; dots part the schema from the table only where the user wrote them unquoted."""
    return '"' + name.replace('"', '""') + '"'


def quoted_table(name: str) -> str:
    """The name of a table, perhaps with its schema."""
    return ".".join(quoted(part) for part in name.split("."))


def create_table(table: str, columns: Columns, types: Mapping[str, str]) -> str:
    """The statement that makes the table of a query's results; `types` are the database's words for ours."""
    text = types["STRING"]
    own = [
        f"{quoted('_id')} {text} PRIMARY KEY",
        f"{quoted('_query')} {text}",
        f"{quoted('_ts')} {types[columns.time_type]}",
        f"{quoted('_alert')} {types.get('JSON', text)}",
    ]
    own += [
        f"{quoted(name)} {_type_of(kind, types)}"
        for name, kind in zip(columns.names, columns.types, strict=True)
    ]
    return f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(own)})"


def _type_of(kind: str, types: Mapping[str, str]) -> str:
    """The database's word for a type of ours; one that it has none for is text."""
    name, parted, digits = kind.partition("(")
    if name == "DECIMAL" and name in types:
        return f"{types[name]}{parted}{digits}"
    return types.get(name, types["STRING"])


def row_of(result: Sent) -> list[Any]:
    """The values of a result, in the order of its table's columns."""
    value = exact_value(result)
    alert = value.get("alert")
    time = value.get("ts", value.get("at"))
    own = [result.id, result.query, time, None if alert is None else json_text(alert)]
    return own + cells_of(result, value)


def create_places(types: Mapping[str, str]) -> str:
    """The statement that makes the table of places."""
    text = types["STRING"]
    return (
        f"CREATE TABLE IF NOT EXISTS {PLACES} (program {text}, sink {text}, run {text}, number {types['BIGINT']}, "
        "PRIMARY KEY (program, sink))"
    )


def select_place(mark: str) -> str:
    """The statement that finds how far a run is."""
    return f"SELECT number FROM {PLACES} WHERE program = {mark} AND sink = {mark} AND run = {mark}"


def put_place(mark: str) -> str:
    """The statement that says how far it is."""
    return (
        f"INSERT INTO {PLACES} (program, sink, run, number) VALUES ({mark}, {mark}, {mark}, {mark}) "
        "ON CONFLICT (program, sink) DO UPDATE SET run = excluded.run, number = excluded.number"
    )


def insert_rows(table: str, columns: Columns, mark: str) -> str:
    """The statement that adds a row, unless it is there."""
    names = ", ".join(map(quoted, (*OWN_COLUMNS, *columns.names)))
    marks = ", ".join([mark] * (len(columns.names) + len(OWN_COLUMNS)))
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (_id) DO NOTHING"


def by_columns(results: Sequence[Sent]) -> list[tuple[Columns, list[Sent]]]:
    """Runs of results with the same columns, in order."""
    runs: list[tuple[Columns, list[Sent]]] = []
    for each in results:
        if runs and runs[-1][0] == each.columns:
            runs[-1][1].append(each)
        else:
            runs.append((each.columns, [each]))
    return runs


def table_mismatch(table: str, query: str, reason: object) -> RunError:
    """What to say of a query whose results do not fit its table."""
    first = str(reason).strip().partition("\n")[0]
    return RunError(
        f"results of query {query} do not fit table {table} ({first}): queries of other columns need a table of their own"
    )
