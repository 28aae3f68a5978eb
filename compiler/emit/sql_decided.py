"""A query with windows or OVER and without BEGIN-END as one statement.

    @rows     one row for each tuple (and table row) and window: `@at` is the time it is given out with
    @groups   one row for each window and group, where there are groups
    @over     the same with what OVER says of each

HAVING, QUALIFY, DISTINCT, ORDER BY and LIMIT are then done per window, as those of EVERY are per instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.emit.sql_expression import Writer
from cqc.compiler.emit.sql_from import conditions_of, instant_us, select, time_us
from cqc.compiler.emit.sql_over import columns_in
from cqc.compiler.emit.sql_pull import PullStatement, Shown
from cqc.compiler.meaning.bound import Decision, TableWindow, WindowKind
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.emit.sql_views import ViewTables
    from cqc.compiler.meaning import bound


class DecidedStatement(PullStatement):
    """The statement of one query whose rows wait for the watermark."""

    def __init__(
        self,
        query: bound.Query,
        decided: bound.Decided,
        words: Dialect,
        tables: ViewTables,
        first: Shown = Shown.NOTHING,
        time_type: ColumnType | None = None,
    ) -> None:
        super().__init__(query, decided, words, None, tables, first, time_type)
        self.decided = decided

    def text(self) -> str:
        parts = [*self.tables.parts]
        if self.pull.is_aggregate:
            keys = [*self.pull.group_by, *self.arguments()]
            parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
            parts.append(f"{self.groups} AS (\n{self.groups_text()}\n)")
            return self.after(parts, self.groups, self.after_groups())
        keys = columns_in(*self.wanted(), self.pull.qualify)
        parts.append(f"{self.rows} AS (\n{self.rows_text(keys)}\n)")
        return self.after(parts, self.rows, self.known_rows(keys))

    def rows_text(self, columns: Sequence[bound.Expression]) -> str:
        by, decided = self.decided.by, self.decided
        alias = self.words.identifier(self.query.items[by].alias)
        moment, end = (f"{alias}.{self.words.identifier(name)}" for name in ("@us", "@end"))
        at_end = decided.by_window
        shown = [f"{end if at_end else moment} AS {self.words.identifier('@at')}"]
        shown += [f"{moment} AS {self.words.identifier('@us')}"]
        arrival = self.words.identifier("@arrival")
        shown += [f"{alias}.{arrival} AS {arrival}"]
        shown += [f"{self.writer.write(part)} AS c{at}" for at, part in enumerate(columns)]
        is_session = decided.window is not None and decided.window.kind is WindowKind.SESSION
        conditions = [] if is_session else conditions_of(self.query, self.writer)
        if decided.kept is not None:
            conditions.append(self.writer.write(decided.kept))
        sources = [self.source(at) for at in range(len(self.query.items))]
        return select(shown, sources, conditions)

    def source(self, at: int) -> str:
        item = self.query.items[at]
        alias = self.words.identifier(item.alias)
        table = self.tables.table(item.relation)
        if at != self.decided.by:
            return f"{table} AS {alias}"
        decided, window = self.decided, self.decided.window
        if window is None:
            inner = self.words.identifier("@all")
            us = f"{time_us(self.words, self.query, at, inner)} AS {self.words.identifier('@us')}"
            if decided.end is not None:
                us += f", {self.passed_end(at, inner)} AS {self.words.identifier('@end')}"
            return f"(SELECT {inner}.*, {us} FROM {self.numbered(item.relation)} AS {inner}) AS {alias}"
        if window.kind is WindowKind.SESSION:
            return f"({self.session_text(at, window)}) AS {alias}"
        return f"({self.windows_text(at, window)}) AS {alias}"

    def passed_end(self, at: int, alias: str) -> str:
        """The end of the window whose column a view has passed on, in microseconds."""
        end = self.decided.end
        assert end is not None
        column = f"{alias}.{self.words.identifier(self.query.items[at].column_name(end.column))}"
        us = instant_us(self.words, column, end.type)
        return f"({us} + {end.add_us})"

    def windows_text(self, at: int, window: TableWindow) -> str:
        """The tuples, each once for each of its windows."""
        self.tables.table(self.query.items[at].relation)
        inner, outer = self.words.identifier("@all"), self.words.identifier("@windows")
        us = time_us(self.words, self.query, at, inner)
        inside = f"({us} - 1)" if window.after_start else us
        slide, size = window.slide_us, window.size_us

        def multiple(text: str) -> str:
            return f"({text} - (({text}) % {slide} + {slide}) % {slide})"

        first = f"({multiple(f'({inside} - {size})')} + {slide})"
        starts = self.words.multiples(first, multiple(inside), slide)
        start_name, us_name = self.words.identifier("@start"), self.words.identifier("@us")
        expanded = (
            f"SELECT {inner}.*, {us} AS {us_name}, {starts} AS {start_name}"
            f" FROM {self.numbered(self.query.items[at].relation)} AS {inner}"
        )
        start, end = f"{outer}.{start_name}", f"({outer}.{start_name} + {size})"
        return f"SELECT {outer}.*, {self.ends(start, end, window)} FROM ({expanded}) AS {outer}"

    def ends(self, start: str, end: str, window: TableWindow) -> str:
        """The columns of a window."""
        named = [f"{end} AS {self.words.identifier('@end')}"]
        for name, us in (("window_start", start), ("window_end", end)):
            named.append(f"{self.instant(us, window.type)} AS {self.words.identifier(name)}")
        return ", ".join(named)

    def instant(self, us: str, type_: ColumnType) -> str:
        if type_ is ColumnType.TIMESTAMP:
            return self.words.timestamp_of(us)
        seconds = f"({us} / {self.words.double(1e6)})"
        if type_ is ColumnType.DOUBLE:
            return seconds
        return f"CAST({seconds} AS {self.words.type_name(type_)})"

    def session_text(self, at: int, window: TableWindow) -> str:
        """Islands between gaps: where a session begins, its number, its first and last event time."""
        words, item = self.words, self.query.items[at]
        alias, _table = words.identifier(item.alias), self.tables.table(item.relation)
        names = {name: words.identifier(name) for name in ("@us", "@arrival", "@new", "@session")}
        us = time_us(words, self.query, at)
        keys = [
            f"{self.writer.write(key)} AS {words.identifier(f'@k{n}')}"
            for n, key in enumerate(window.keys)
        ]
        inner = select(
            [f"{alias}.*", f"{us} AS {names['@us']}", *keys],
            [f"{self.numbered(item.relation)} AS {alias}"],
            conditions_of(self.query, self.writer),
        )
        key_names = [words.identifier(f"@k{n}") for n in range(len(window.keys))]
        by = f"PARTITION BY {', '.join(key_names)} " if key_names else ""
        order = f"{by}ORDER BY {names['@us']}, {names['@arrival']}"
        gap = f"{names['@us']} - lag({names['@us']}) OVER ({order})"
        begun = f"SELECT *, CASE WHEN {gap} <= {window.size_us} THEN 0 ELSE 1 END AS {names['@new']} FROM ({inner}) AS b"
        counted = (
            f"SELECT *, sum({names['@new']}) OVER ({order} ROWS UNBOUNDED PRECEDING) AS {names['@session']}"
            f" FROM ({begun}) AS c"
        )
        whole = f"PARTITION BY {', '.join([*key_names, names['@session']])}"
        start = f"min({names['@us']}) OVER ({whole})"
        end = f"(max({names['@us']}) OVER ({whole}) + {window.size_us})"
        return f"SELECT *, {self.ends(start, end, window)} FROM ({counted}) AS d"

    def shown_at(self, at_us: str) -> str:
        if self.first is Shown.EVENT_TIME and self.time_type is not None:
            return self.instant(at_us, self.time_type)
        return super().shown_at(at_us)

    def known_rows(self, keys: Sequence[bound.Expression]) -> Writer:
        known = {key: self.cell(self.rows, position) for position, key in enumerate(keys)}
        return Writer(self.words, self.query.items, known)

    def over_at(self) -> str | None:
        """Rows of different windows do not see one another; those of OVER by event time do."""
        if self.decided.decision is Decision.RUNNING:
            return None
        return self.words.identifier("@at")
