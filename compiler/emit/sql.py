"""Each query as one batch SQL statement over the same tables, so that any SQL engine can check an answer.

The columns are those of the query. A pull query is answered at the instants of a common table expression `@instants`: one
row for an invocation, every multiple of the period for EVERY, where a first column `@at` tells them apart. Everything
after BEGIN-END (grouping, DISTINCT, LIMIT) is then done per instant. On request a first column has the time of each result.

    SELECT x FROM s WHERE x > 1      becomes
    SELECT "s"."x" AS "x" FROM "s" AS "s" WHERE ("s"."ts" IS NOT NULL) AND ("s"."x" > 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.emit.sql_absence import AbsenceText, with_plain_aliases
from cqc.compiler.emit.sql_decided import DecidedStatement
from cqc.compiler.emit.sql_duckdb import DuckDb
from cqc.compiler.emit.sql_expression import Writer
from cqc.compiler.emit.sql_from import (
    conditions_of,
    largest,
    numbered,
    select,
    time_column,
    time_us,
    write_outputs,
)
from cqc.compiler.emit.sql_pull import PullStatement, Shown
from cqc.compiler.emit.sql_spark import Spark
from cqc.compiler.emit.sql_views import ViewTables, asked_in, cast_time, with_views
from cqc.compiler.functions.sql_forms import CannotWriteError

if TYPE_CHECKING:
    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.emit.sql_views import WriteBranch
    from cqc.compiler.meaning import bound
    from cqc.compiler.meaning.bound import Pull
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.types import ColumnType
    from cqc.compiler.program import Program

DIALECTS: dict[str, Dialect] = {"duckdb": DuckDb(), "spark": Spark()}
_SHOWN = {"duckdb": "DuckDB", "spark": "Spark"}


def emit_sql(program: Program, dialect: str = "duckdb") -> str:
    """All queries as SQL text, each under a comment with its name."""
    return "\n".join(_statement(query, dialect) for query in program.queries)


def _statement(query: bound.Query, dialect: str) -> str:
    """A query under its name, or a sentence that says what the dialect has no words for."""
    title = f"-- {query.name.replace(chr(10), ' ')}\n"
    try:
        return f"{title}{query_sql(query, dialect)};\n"
    except CannotWriteError as reason:
        return f"{title}-- not written for {_SHOWN[dialect]}: {reason}\n"


def query_sql(
    query: bound.Query, dialect: str = "duckdb", at_us: int | None = None, *, timed: bool = False
) -> str:
    """One query as one statement; `at_us` is NOW for a pull query without EVERY.

    Args:
        query: The query as bound.
        dialect: `duckdb` or `spark` (in its default ANSI mode).
        at_us: The instant asked about, in microseconds; the latest event time when it is None.
        timed: Whether a first column has the result time (`@ts`) or instant (`@at`); with EVERY it always has.
    """
    words = DIALECTS[dialect]
    if query.alert is not None:
        raise CannotWriteError(
            "an alert remembers for each key what came before, observation by observation"
        )
    if query.decided is not None:
        tables = ViewTables(query, words, _branch_writer(words))
        shown = Shown.TIME if timed or query.decided.is_at else Shown.NOTHING
        return DecidedStatement(query, query.decided, words, tables, shown).text()
    if query.pull is None:
        return _push(query, words, timed="@ts" if timed else None)
    timed = timed or query.pull.every_us is not None
    tables = ViewTables(query, words, _branch_writer(words), query.pull)
    shown = Shown.TIME if timed else Shown.NOTHING
    return PullStatement(query, query.pull, words, at_us, tables, shown).text()


def _branch_writer(words: Dialect) -> WriteBranch:
    """How a branch of a view is written."""

    def write(query: bound.Query, view: Relation, window: Pull | None) -> str:
        assert view.view is not None
        time = view.time_type if view.view.adds_time else None
        if query.decided is not None:
            tables = ViewTables(query, words, write)
            shown = Shown.NOTHING if time is None else Shown.EVENT_TIME
            return DecidedStatement(query, query.decided, words, tables, shown, time).text()
        if query.pull is None:
            name = None if time is None else view.columns[0].name
            return _push(query, words, timed=name, time_type=time)
        pull = asked_in(query.pull, window)
        tables = ViewTables(query, words, write, pull)
        if (
            not view.is_stream and not view.is_windowed
        ):  # of tables alone: the same at every instant
            return PullStatement(query, pull, words, 0, tables, Shown.NOTHING, time).text()
        shown = Shown.EVENT_TIME if pull.every_us is not None else Shown.READERS
        return PullStatement(query, pull, words, None, tables, shown, time).text()

    return write


def _push_absence(query: bound.Query, words: Dialect, *, timed: str | None) -> str:
    """A query with outer joins or EXISTS. Its result times follow from last instants, which SQL does not have."""
    if timed is not None:
        raise InternalError("the result times of outer joins and EXISTS are not written as SQL")
    whole = with_plain_aliases(query)
    tables = ViewTables(whole, words, _branch_writer(words))
    text = AbsenceText(query, words, lambda each, at: _tuples_source(words, each, at, tables))
    outputs = write_outputs(query, text.writer)
    return with_views(tables, select(outputs, [text.from_text()], text.conditions()))


def _tuples_source(words: Dialect, query: bound.Query, at: int, tables: ViewTables) -> str:
    """The tuples of an item that have an event time."""
    item = query.items[at]
    name, alias = tables.table(item.relation), words.identifier(item.alias)
    if not item.relation.is_stream:
        return f"{name} AS {alias}"
    time = words.identifier(item.relation.columns[time_column(query, at)].name)
    return f"(SELECT * FROM {name} WHERE {time} IS NOT NULL) AS {alias}"


def _push(
    query: bound.Query, words: Dialect, *, timed: str | None, time_type: ColumnType | None = None
) -> str:
    """A push query; `timed` is the name of a first column with the result time, of a type that may be wider."""
    if query.has_absence:
        return _push_absence(query, words, timed=timed)
    writer = Writer(words, query.items)
    tables = ViewTables(query, words, _branch_writer(words))
    sources = [_item_source(words, query, at, tables) for at in range(len(query.items))]
    conditions = [*conditions_of(query, writer), *_rows_conditions(query, words)]
    outputs = write_outputs(query, writer)
    if timed is not None:
        times = [writer.column(at, time_column(query, at)) for at in query.stream_items]
        given = [query.items[at].relation.time_type for at in query.stream_items]
        newest = largest(times)
        if time_type is not None:
            newest = cast_time(words, newest, given, time_type)
        outputs.insert(0, f"{newest} AS {words.identifier(timed)}")
    return with_views(tables, select(outputs, sources, conditions))


def _item_source(words: Dialect, query: bound.Query, at: int, tables: ViewTables) -> str:
    """A FROM item of a push query; with [ROWS k] it also has the time of the k-th tuple after each."""
    item = query.items[at]
    name, alias = tables.table(item.relation), words.identifier(item.alias)
    if item.rows is None or not item.relation.is_stream:
        return f"{name} AS {alias}"
    inner = words.identifier("@all")
    moment_us, arrival = time_us(words, query, at, inner), f"{inner}.{words.identifier('@arrival')}"
    following = f"lead({moment_us}, {item.rows}) OVER (ORDER BY {moment_us}, {arrival})"
    return (
        f"(SELECT {inner}.*, {following} AS {words.identifier('@following')}"
        f" FROM {numbered(words, name)} AS {inner}) AS {alias}"
    )


def _rows_conditions(query: bound.Query, words: Dialect) -> list[str]:
    """Rule 4: the k-th tuple after this one comes after all of the combination, in the order (time, item, arrival)."""
    conditions = []
    for at in query.stream_items:
        if query.items[at].rows is None:
            continue
        following = f"{words.identifier(query.items[at].alias)}.{words.identifier('@following')}"
        earlier = [
            f"{time_us(words, query, other)} {'<=' if other < at else '<'} {following}"
            for other in query.stream_items
            if other != at
        ]
        conditions.append(f"({following} IS NULL OR {' AND '.join(earlier) or 'TRUE'})")
    return conditions
