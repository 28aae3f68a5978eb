"""Each query as one batch SQL statement over the same tables, so that any SQL engine can check an answer.

The columns are those of the query. A pull query is answered at the instants of a common table expression `@instants`: one
row for an invocation, every multiple of the period for EVERY, where a first column `@at` tells them apart. Everything
after BEGIN-END (grouping, DISTINCT, LIMIT) is then done per instant. On request a first column has the time of each result.

    SELECT x FROM s WHERE x > 1      becomes
    SELECT "s"."x" AS "x" FROM "s" AS "s" WHERE ("s"."ts" IS NOT NULL) AND ("s"."x" > 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from cqc.compiler.emit.sql_pull import PullStatement
from cqc.compiler.emit.sql_spark import Spark

if TYPE_CHECKING:
    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.meaning import bound
    from cqc.compiler.program import Program

DIALECTS: dict[str, Dialect] = {"duckdb": DuckDb(), "spark": Spark()}


def emit_sql(program: Program, dialect: str = "duckdb") -> str:
    """All queries as SQL text, each under a comment with its name."""
    statements = [
        f"-- {query.name.replace(chr(10), ' ')}\n{query_sql(query, dialect)};\n"
        for query in program.queries
    ]
    return "\n".join(statements)


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
    if query.pull is None:
        return _push(query, words, timed=timed)
    timed = timed or query.pull.every_us is not None
    return PullStatement(query, query.pull, words, at_us, timed=timed).text()


def _push(query: bound.Query, words: Dialect, *, timed: bool) -> str:
    writer = Writer(words, query.items)
    sources = [_item_source(words, query, at) for at in range(len(query.items))]
    conditions = [*conditions_of(query, writer), *_rows_conditions(query, words)]
    outputs = write_outputs(query, writer)
    if timed:
        times = [writer.column(at, time_column(query, at)) for at in query.stream_items]
        outputs.insert(0, f"{largest(times)} AS {words.identifier('@ts')}")
    return select(outputs, sources, conditions)


def _item_source(words: Dialect, query: bound.Query, at: int) -> str:
    """A FROM item of a push query; with [ROWS k] it also has the time of the k-th tuple after each."""
    item = query.items[at]
    name, alias = words.identifier(item.relation.name), words.identifier(item.alias)
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
