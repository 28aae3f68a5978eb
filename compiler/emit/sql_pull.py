"""A query with BEGIN-END as one statement made of common table expressions.

    @instants   the instants asked about: one, or every multiple of the period
    @rows       one row per instant and combination inside BEGIN-END
    @groups     one row per instant and group, where there are groups

What follows (HAVING, DISTINCT, ORDER BY, LIMIT) is done per instant, so that an invocation and EVERY are one thing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_expression import Writer
from cqc.compiler.emit.sql_from import (
    conditions_of,
    largest,
    numbered,
    select,
    smallest,
    time_us,
    write_outputs,
)
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.meaning.bound import Instant, Pull


class PullStatement:
    """The statement of one query with BEGIN-END, made of common table expressions."""

    def __init__(
        self,
        query: bound.Query,
        pull: Pull,
        words: Dialect,
        at_us: int | None,
        *,
        timed: bool,
    ) -> None:
        self.timed = timed  # whether the instant is the first column
        self.query = query
        self.pull = pull
        self.words = words
        self.at_us = at_us
        self.writer = Writer(words, query.items)
        self.instants = words.identifier("@instants")
        self.at = f"{self.instants}.{words.identifier('@at')}"
        self.rows = words.identifier("@rows")
        self.groups = words.identifier("@groups")

    def text(self) -> str:
        parts = [f"{self.instants} AS ({self.instants_text()})"]
        if self.pull.is_aggregate:
            keys = [*self.pull.group_by, *self.arguments()]
            parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
            parts.append(f"{self.groups} AS (\n{self.groups_text()}\n)")
            return "WITH " + ",\n".join(parts) + "\n" + self.final(self.groups, self.after_groups())
        keys = self.wanted()
        parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
        known = {key: self.cell(self.rows, position) for position, key in enumerate(keys)}
        writer = Writer(self.words, self.query.items, known)
        return "WITH " + ",\n".join(parts) + "\n" + self.final(self.rows, writer)

    # Instants

    def instants_text(self) -> str:
        name = self.words.identifier("@at")
        if self.pull.every_us is not None:
            first, last = self.seen("min"), self.seen("max")
            every = self.pull.every_us
            rounded = f"lo + ((-lo % {every}) + {every}) % {every}"
            multiples = self.words.multiples(rounded, "hi", every)
            bounds = f"(SELECT {smallest(first)} AS lo, {largest(last)} AS hi) AS seen"
            return f"SELECT {multiples} AS {name} FROM {bounds}"
        if self.at_us is not None:
            return f"SELECT {self.words.bigint(self.at_us)} AS {name}"
        return f"SELECT {largest(self.seen('max'))} AS {name}"

    def seen(self, function: str) -> list[str]:
        """The first or last event time of each stream."""
        seen = []
        for at in self.query.stream_items:
            table = self.words.identifier(self.query.items[at].relation.name)
            seen.append(
                f"(SELECT {function}({time_us(self.words, self.query, at, table)}) FROM {table})"
            )
        return list(dict.fromkeys(seen))

    def bound_text(self, end: Instant) -> str:
        if not end.from_now:
            return self.words.bigint(end.offset_us)
        return f"({self.at} + {self.words.bigint(end.offset_us)})"

    def inside(self, moment_us: str) -> list[str]:
        begin, _end = self.pull.begin, self.pull.end
        after = ">" if begin.exclusive else ">="
        return [f"({moment_us} {after} {self.bound_text(begin)})", self.before_end(moment_us)]

    def before_end(self, moment_us: str) -> str:
        before = "<" if self.pull.end.exclusive else "<="
        return f"({moment_us} {before} {self.bound_text(self.pull.end)})"

    # Combinations

    def rows_text(self, columns: Sequence[bound.Expression]) -> str:
        """One row per instant and combination: the columns c0, c1, ..."""
        shown = [f"{self.at} AS {self.words.identifier('@at')}"]
        shown += [f"{self.writer.write(part)} AS c{at}" for at, part in enumerate(columns)]
        conditions = conditions_of(self.query, self.writer)
        for at in self.query.stream_items:
            conditions += self.inside(time_us(self.words, self.query, at))
            conditions += self.ranked(at)
        return select(
            shown, [self.instants, *map(self.source, range(len(self.query.items)))], conditions
        )

    def source(self, at: int) -> str:
        """A FROM item; with [ROWS k] it knows how far from the END bound each tuple is, at each instant."""
        item = self.query.items[at]
        table, alias = self.words.identifier(item.relation.name), self.words.identifier(item.alias)
        if item.rows is None or not item.relation.is_stream:
            return f"{table} AS {alias}"
        inner = self.words.identifier("@all")
        moment_us = time_us(self.words, self.query, at, inner)
        order = f"{moment_us} DESC, {inner}.{self.words.identifier('@arrival')} DESC"
        rank = f"row_number() OVER (PARTITION BY {self.at} ORDER BY {order})"
        return (
            f"(SELECT {inner}.*, {self.at} AS {self.words.identifier('@at')},"
            f" {rank} AS {self.words.identifier('@rank')}"
            f" FROM {self.instants}, {numbered(self.words, table)} AS {inner}"
            f" WHERE {self.before_end(moment_us)}) AS {alias}"
        )

    def ranked(self, at: int) -> list[str]:
        item = self.query.items[at]
        if item.rows is None:
            return []
        alias = self.words.identifier(item.alias)
        return [
            f"({alias}.{self.words.identifier('@at')} = {self.at})",
            f"({alias}.{self.words.identifier('@rank')} <= {item.rows})",
        ]

    def cell(self, table: str, position: int) -> str:
        return f"{table}.c{position}"

    # Groups

    def wanted(self) -> list[bound.Expression]:
        """What the final SELECT reads of a query without groups: outputs and order keys, each once."""
        found = [output.expression for output in self.query.outputs]
        found += [key.expression for key in self.pull.order_by]
        return list(dict.fromkeys(found))

    def aggregates(self) -> list[bound.Aggregate]:
        roots = self.wanted() + ([self.pull.having] if self.pull.having is not None else [])
        return list(dict.fromkeys(found for root in roots for found in _aggregates_in(root)))

    def arguments(self) -> list[bound.Expression]:
        found = [part.argument for part in self.aggregates() if part.argument is not None]
        return list(dict.fromkeys(found))

    def groups_text(self) -> str:
        """One row per instant and group: the group keys c0, c1, ... then the aggregates."""
        keys = self.pull.group_by
        at_name = self.words.identifier("@at")
        cells = {
            part: self.cell(self.rows, len(keys) + at) for at, part in enumerate(self.arguments())
        }
        writer = Writer(self.words, self.query.items, cells)
        shown = [self.cell(self.rows, at) for at in range(len(keys))]
        made = [
            # An instant without rows is there once, from the outer join: only real rows have an `@at` of their own.
            f"count({self.rows}.{at_name})" if part.argument is None else writer.write(part)
            for part in self.aggregates()
        ]
        outputs = [f"{text} AS c{at}" for at, text in enumerate([*shown, *made])]
        if keys:
            by = ", ".join([f"{self.rows}.{at_name}", *shown])
            outputs = [f"{self.rows}.{at_name} AS {at_name}", *outputs]
            return select(outputs, [self.rows], []) + f"\nGROUP BY {by}"
        joined = f"{self.instants} LEFT JOIN {self.rows} ON {self.rows}.{at_name} = {self.at}"
        return select([f"{self.at} AS {at_name}", *outputs], [joined], []) + f"\nGROUP BY {self.at}"

    def after_groups(self) -> Writer:
        parts: list[bound.Expression] = [*self.pull.group_by, *self.aggregates()]
        known = {part: self.cell(self.groups, at) for at, part in reversed(list(enumerate(parts)))}
        return Writer(self.words, self.query.items, known)

    # The end

    def final(self, table: str, writer: Writer) -> str:
        at_name = self.words.identifier("@at")
        having = [] if self.pull.having is None else [writer.write(self.pull.having)]
        if self.pull.distinct:
            keys = self.wanted()
            cells = [f"{writer.write(part)} AS c{at}" for at, part in enumerate(keys)]
            inner = f"SELECT DISTINCT {', '.join([f'{table}.{at_name}', *cells])} FROM {table}"
            inner += f" WHERE {having[0]}" if having else ""
            distinct = self.words.identifier("@distinct")
            known = {part: f"{distinct}.c{at}" for at, part in enumerate(keys)}
            writer = Writer(self.words, self.query.items, known)
            return self.ordered(distinct, f"({inner}) AS {distinct}", [], writer)
        return self.ordered(table, table, having, writer)

    def shown(self, at: str, writer: Writer) -> list[str]:
        outputs = write_outputs(self.query, writer)
        if not self.timed:
            return outputs
        return [f"{self.shown_at(at)} AS {self.words.identifier('@at')}", *outputs]

    def ordered(self, table: str, source: str, having: list[str], writer: Writer) -> str:
        at = f"{table}.{self.words.identifier('@at')}"
        shown = self.shown(at, writer)
        keys = [
            f"{writer.write(key.expression)} {'DESC' if key.descending else 'ASC'}"
            f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in self.pull.order_by
        ]
        times = [at] if self.timed else []
        if self.pull.limit is None:
            order = f"\nORDER BY {', '.join([*times, *keys])}" if times or keys else ""
            return select(shown, [source], having) + order
        place = self.words.identifier("@place")
        ranked = (
            f"row_number() OVER (PARTITION BY {at} ORDER BY {', '.join(keys) or at}) AS {place}"
        )
        limited = self.words.identifier("@limited")
        wanted = (*(["@at"] if self.timed else []), *(o.name for o in self.query.outputs))
        names = [self.words.identifier(name) for name in wanted]
        first = f"{names[0]}, " if self.timed else ""
        inner = select([*shown, ranked], [source], having)
        return (
            f"SELECT {', '.join(names)}\nFROM   (\n{inner}\n) AS {limited}"
            f"\nWHERE  {place} <= {self.pull.limit}\nORDER BY {first}{place}"
        )

    def shown_at(self, at_us: str) -> str:
        """The instant as the streams count time: a timestamp, or seconds."""
        item = self.query.items[self.query.stream_items[0]]
        if item.relation.time_type is ColumnType.TIMESTAMP:
            return self.words.timestamp_of(at_us)
        return f"({at_us} / {self.words.double(1e6)})"


def _aggregates_in(expression: bound.Expression) -> list[bound.Aggregate]:
    if isinstance(expression, bound.Aggregate):
        return [expression]
    return [found for part in bound.children(expression) for found in _aggregates_in(part)]
