"""A query with BEGIN-END as one statement made of common table expressions.

    @instants   the instants asked about: one, or every multiple of the period
    @rows       one row per instant and combination inside BEGIN-END
    @groups     one row per instant and group, where there are groups

What follows (HAVING, DISTINCT, ORDER BY, LIMIT) is done per instant, so that an invocation and EVERY are one thing.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_absence import AbsenceText, with_plain_aliases
from cqc.compiler.emit.sql_expression import Writer
from cqc.compiler.emit.sql_from import (
    conditions_of,
    largest,
    numbered,
    relation_time_us,
    select,
    smallest,
    time_us,
    write_outputs,
)
from cqc.compiler.emit.sql_over import OverWriter, columns_in
from cqc.compiler.emit.sql_views import base_streams
from cqc.compiler.meaning import bound
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.emit.sql_views import ViewTables
    from cqc.compiler.meaning.bound import Decided, Instant, Pull
    from cqc.compiler.meaning.catalog import Relation


class Shown(Enum):
    """What stands before the outputs of a statement."""

    NOTHING = 0
    TIME = 1  # the instant, as people write it
    EVENT_TIME = (
        2  # of a view with EVERY: the instant, or the end of its window where that is later
    )
    READERS = 3  # the instant of the reader, whose `@instants` are used


class PullStatement:
    """The statement of one query with BEGIN-END, made of common table expressions."""

    def __init__(
        self,
        query: bound.Query,
        pull: Pull | Decided,
        words: Dialect,
        at_us: int | None,
        tables: ViewTables,
        first: Shown,
        time_type: ColumnType | None = None,
    ) -> None:
        """`first` stands before the outputs, for `EVENT_TIME` as a column ts of a type."""
        self.timed = first is not Shown.NOTHING
        self.first = first
        self.time_type = time_type
        self.tables = tables
        self.query = query
        self.pull = pull
        self.words = words
        self.at_us = at_us
        self.writer = Writer(words, query.items)
        self.instants = words.identifier("@instants")
        self.at = f"{self.instants}.{words.identifier('@at')}"
        self.rows = words.identifier("@rows")
        self.groups = words.identifier("@groups")
        roots = self.wanted()
        self.overs = bound.overs_in(*roots, pull.qualify)

    def text(self) -> str:
        parts = (
            [] if self.first is Shown.READERS else [f"{self.instants} AS ({self.instants_text()})"]
        )
        parts += self.tables.parts
        if self.pull.is_aggregate:
            keys = [*self.pull.group_by, *self.arguments()]
            parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
            parts.append(f"{self.groups} AS (\n{self.groups_text()}\n)")
            return self.after(parts, self.groups, self.after_groups())
        keys = columns_in(*self.wanted(), self.pull.qualify) if self.overs else self.wanted()
        parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
        known = {key: self.cell(self.rows, position) for position, key in enumerate(keys)}
        writer = Writer(self.words, self.query.items, known)
        return self.after(parts, self.rows, writer)

    def after(self, parts: list[str], table: str, writer: Writer) -> str:
        """OVER where there is any, and the end."""
        if not self.overs:
            return "WITH " + ",\n".join(parts) + "\n" + self.final(table, writer)
        having = [] if self.pull.having is None else [writer.write(self.pull.having)]
        source, idle = self.with_idle(parts, table, writer)
        at = self.over_at()
        known = {
            part: text.replace(f"{table}.", f"{source}.", 1) for part, text in writer.known.items()
        }
        inner = Writer(self.words, self.query.items, known)
        over_writer = OverWriter(
            self.words, inner, source, None if at is None else f"{source}.{at}", idle
        )
        over = self.words.identifier("@over")
        texts = map(over_writer.text, self.overs)
        columns = [f"{text} AS o{number}" for number, text in enumerate(texts)]
        condition = [each.replace(f"{table}.", f"{source}.") for each in having]
        parts.append(f"{over} AS (\n{select([f'{source}.*', *columns], [source], condition)}\n)")
        after = {
            part: text.replace(f"{table}.", f"{over}.", 1) for part, text in writer.known.items()
        }
        after |= {each: f"{over}.o{number}" for number, each in enumerate(self.overs)}
        last = Writer(self.words, self.query.items, after)
        return "WITH " + ",\n".join(parts) + "\n" + self.final(over, last)

    def over_at(self) -> str | None:
        """The column that no partition goes beyond."""
        return self.words.identifier("@at")

    def with_idle(
        self, parts: list[str], table: str, writer: Writer
    ) -> tuple[str, dict[tuple[bound.Expression, ...], str]]:
        """The table, with a number for each PARTITION BY that grows where a key was silent for longer than KEY_IDLE."""
        idle_us = self.pull.key_idle_us if isinstance(self.pull, bound.Decided) else None
        if idle_us is None:
            return table, {}
        us, arrival = self.words.identifier("@us"), self.words.identifier("@arrival")
        partitions = list(dict.fromkeys(over.partition for over in self.overs))
        begun, counted = self.words.identifier("@begun"), self.words.identifier("@counted")
        gaps, sums, found = [], [], {}
        for at, keys in enumerate(partitions):
            here = [writer.write(key) for key in keys]
            there = [text.replace(f"{table}.", f"{begun}.") for text in here]
            by = f"PARTITION BY {', '.join(here)} " if here else ""
            order = f"{by}ORDER BY {table}.{us}, {table}.{arrival}"
            gap = f"{table}.{us} - lag({table}.{us}) OVER ({order})"
            gaps.append(f"CASE WHEN {gap} > {idle_us} THEN 1 ELSE 0 END AS b{at}")
            by = f"PARTITION BY {', '.join(there)} " if there else ""
            order = f"{by}ORDER BY {begun}.{us}, {begun}.{arrival}"
            sums.append(f"sum({begun}.b{at}) OVER ({order} ROWS UNBOUNDED PRECEDING) AS i{at}")
            found[keys] = f"{counted}.i{at}"
        parts.append(f"{begun} AS (\n{select([f'{table}.*', *gaps], [table], [])}\n)")
        parts.append(f"{counted} AS (\n{select([f'{begun}.*', *sums], [begun], [])}\n)")
        return counted, found

    # Instants

    def instants_text(self) -> str:
        name = self.words.identifier("@at")
        assert isinstance(self.pull, bound.Pull)
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
        query = with_plain_aliases(self.query) if self.query.has_absence else self.query
        for relation in base_streams(query):
            table = self.words.identifier(relation.name)
            moment_us = relation_time_us(self.words, relation, table)
            seen.append(f"(SELECT {function}({moment_us}) FROM {table})")
        return list(dict.fromkeys(seen))

    def bound_text(self, end: Instant) -> str:
        if not end.from_now:
            return self.words.bigint(end.offset_us)
        return f"({self.at} + {self.words.bigint(end.offset_us)})"

    def inside(self, moment_us: str) -> list[str]:
        assert isinstance(self.pull, bound.Pull)
        begin, _end = self.pull.begin, self.pull.end
        after = ">" if begin.exclusive else ">="
        return [f"({moment_us} {after} {self.bound_text(begin)})", self.before_end(moment_us)]

    def before_end(self, moment_us: str) -> str:
        assert isinstance(self.pull, bound.Pull)
        before = "<" if self.pull.end.exclusive else "<="
        return f"({moment_us} {before} {self.bound_text(self.pull.end)})"

    # Combinations

    def rows_text(self, columns: Sequence[bound.Expression]) -> str:
        """One row per instant and combination: the columns c0, c1, ..."""
        if self.query.has_absence:
            return self.absence_text(columns)
        shown = [f"{self.at} AS {self.words.identifier('@at')}"]
        shown += [f"{self.writer.write(part)} AS c{at}" for at, part in enumerate(columns)]
        shown += self.moments()
        conditions = conditions_of(self.query, self.writer)
        for at in self.query.stream_items:
            conditions += self.inside(time_us(self.words, self.query, at))
            conditions += self.ranked(at)
        for item in self.query.items:
            if item.relation.is_windowed:
                alias = self.words.identifier(item.alias)
                conditions.append(f"({alias}.{self.words.identifier('@at')} = {self.at})")
        return select(
            shown, [self.instants, *map(self.source, range(len(self.query.items)))], conditions
        )

    def numbered(self, relation: Relation) -> str:
        """A table whose rows know their order: that of arrival, in a view that of the values."""
        table = self.tables.table(relation)
        if relation.view is None:
            return numbered(self.words, table)
        keys = [f"{self.words.identifier(each.name)} NULLS FIRST" for each in relation.columns]
        number = f"row_number() OVER (ORDER BY {', '.join(keys)})"
        return f"(SELECT *, {number} AS {self.words.identifier('@arrival')} FROM {table})"

    @property
    def by_time(self) -> bool:
        """Whether some OVER orders rows by event time."""
        return not self.pull.is_aggregate and any(over.by_time for over in self.overs)

    def moments(self) -> list[str]:
        """Event time and arrival of the rows, where OVER orders by them."""
        if not self.by_time:
            return []
        at = self.query.stream_items[0]
        arrival = self.words.identifier("@arrival")
        return [
            f"{time_us(self.words, self.query, at)} AS {self.words.identifier('@us')}",
            f"{self.words.identifier(self.query.items[at].alias)}.{arrival} AS {arrival}",
        ]

    def absence_text(self, columns: Sequence[bound.Expression]) -> str:
        """The same with outer joins or EXISTS: every item is cut to the window of each instant first."""
        at_name = self.words.identifier("@at")
        text = AbsenceText(self.query, self.words, self.cut_source, at_name)
        shown = [f"{text.at(range(len(self.query.items)))} AS {at_name}"]
        shown += [f"{text.writer.write(part)} AS c{at}" for at, part in enumerate(columns)]
        return select(shown, [text.from_text()], text.conditions())

    def cut_source(self, whole: bound.Query, at: int) -> str:
        """The tuples of an item inside the window of each instant; of a table all rows, once something was seen."""
        item = whole.items[at]
        table, alias = self.words.identifier(item.relation.name), self.words.identifier(item.alias)
        inner, at_name = self.words.identifier("@all"), self.words.identifier("@at")
        shown = f"SELECT {inner}.*, {self.at} AS {at_name}"
        if not item.relation.is_stream:
            seen = f"{self.at} IS NOT NULL"
            return f"({shown} FROM {self.instants}, {table} AS {inner} WHERE {seen}) AS {alias}"
        moment_us = time_us(self.words, whole, at, inner)
        conditions = " AND ".join(self.inside(moment_us))
        if item.rows is None:
            return (
                f"({shown} FROM {self.instants}, {table} AS {inner} WHERE {conditions}) AS {alias}"
            )
        order = f"{moment_us} DESC, {inner}.{self.words.identifier('@arrival')} DESC"
        rank = self.words.identifier("@rank")
        ranked = f"row_number() OVER (PARTITION BY {self.at} ORDER BY {order}) AS {rank}"
        last = self.before_end(moment_us)
        numbers = numbered(self.words, table)
        within = (
            f"SELECT {inner}.*, {self.at} AS {at_name}, {ranked}, {moment_us} AS {self.words.identifier('@us')}"
            f" FROM {self.instants}, {numbers} AS {inner} WHERE {last}"
        )
        assert isinstance(self.pull, bound.Pull)
        begin = self.pull.begin
        after = ">" if begin.exclusive else ">="
        low = self.words.bigint(begin.offset_us)
        low = f"({at_name} + {low})" if begin.from_now else low
        us = self.words.identifier("@us")
        return f"(SELECT * FROM ({within}) AS {inner} WHERE {rank} <= {item.rows} AND {us} {after} {low}) AS {alias}"

    def source(self, at: int) -> str:
        """A FROM item; with [ROWS k] it knows how far from the END bound each tuple is, at each instant."""
        item = self.query.items[at]
        table, alias = self.tables.table(item.relation), self.words.identifier(item.alias)
        if item.rows is None or not item.relation.is_stream:
            return f"{self.numbered(item.relation) if self.by_time else table} AS {alias}"
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
        conditions = [self.pull.having, self.pull.qualify]
        roots = self.wanted() + [each for each in conditions if each is not None]
        return list(dict.fromkeys(found for root in roots for found in _aggregates_in(root)))

    def arguments(self) -> list[bound.Expression]:
        found = [each for part in self.aggregates() for each in part.inputs]
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
            if self.pull.grouping_sets:
                sets = (
                    ", ".join([f"{self.rows}.{at_name}", *(shown[at] for at in kept)])
                    for kept in self.pull.grouping_sets
                )
                by = f"GROUPING SETS ({', '.join(f'({each})' for each in sets)})"
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
        if self.overs:  # HAVING was asked before
            having = [] if self.pull.qualify is None else [writer.write(self.pull.qualify)]
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
        return [f"{self.shown_at(at)} AS {self.words.identifier(self.first_name)}", *outputs]

    @property
    def first_name(self) -> str:
        return "ts" if self.first is Shown.EVENT_TIME else "@at"

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
        wanted = (*([self.first_name] if self.timed else []), *(o.name for o in self.query.outputs))
        names = [self.words.identifier(name) for name in wanted]
        first = f"{names[0]}, " if self.timed else ""
        inner = select([*shown, ranked], [source], having)
        return (
            f"SELECT {', '.join(names)}\nFROM   (\n{inner}\n) AS {limited}"
            f"\nWHERE  {place} <= {self.pull.limit}\nORDER BY {first}{place}"
        )

    def shown_at(self, at_us: str) -> str:
        """The instant as the streams count time: a timestamp, or seconds."""
        if self.first is Shown.READERS:
            return at_us
        if self.first is Shown.EVENT_TIME:
            assert isinstance(self.pull, bound.Pull)
            end = self.pull.end
            shift = self.words.bigint(end.offset_us)
            at_us = f"greatest({at_us}, {f'{at_us} + {shift}' if end.from_now else shift})"
        stream = next(base_streams(self.query), None)
        if stream is None or stream.time_type is ColumnType.TIMESTAMP:
            return self.words.timestamp_of(at_us)
        seconds = f"({at_us} / {self.words.double(1e6)})"
        if self.time_type is ColumnType.BIGINT:
            return f"CAST({seconds} AS {self.words.type_name(ColumnType.BIGINT)})"
        return seconds


def _aggregates_in(expression: bound.Expression) -> list[bound.Aggregate]:
    if isinstance(expression, bound.Aggregate):
        return [expression]
    return [found for part in bound.children(expression) for found in _aggregates_in(part)]
