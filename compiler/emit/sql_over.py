"""OVER as SQL: a common table expression `@over` that has one more column for each of them.

Event time orders by microseconds and arrival, as cqc does; a RANGE over it has one order key, as SQL wants.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import ColumnRef, EndKind, OverFunction, children

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.emit.sql_dialect import Dialect
    from cqc.compiler.emit.sql_expression import Writer
    from cqc.compiler.meaning.bound import Expression, Frame, FrameEnd, Over

_WRAPPERS = frozenset({"try_cast", "cast", "coalesce", "nullif", "case"})
_CALL = re.compile(r"([A-Za-z_][A-Za-z_0-9]*)\(")


@dataclass(frozen=True)
class OverWriter:
    """Writes the OVERs of a query over the rows of one table.

    `at` is the column that no partition goes beyond, `idle` a column for each PARTITION BY that starts anew when a key was silent.
    """

    words: Dialect
    writer: Writer
    table: str
    at: str | None
    idle: Mapping[tuple[Expression, ...], str]

    def text(self, over: Over) -> str:
        """One OVER."""
        keys = [self.writer.write(each) for each in over.partition]
        keys += [self.idle[over.partition]] if over.partition in self.idle else []
        keys = [*([self.at] if self.at is not None else []), *keys]
        parts = [f"PARTITION BY {', '.join(keys)}"] if keys else []
        order = self._order(over)
        parts += [f"ORDER BY {order}"] if order else []
        if over.frame is not None:
            parts.append(self._frame(over.frame))
        return _windowed(self._call(over), f" OVER ({' '.join(parts)})")

    def _call(self, over: Over) -> str:
        if over.aggregate is not None:
            if over.aggregate.argument is None:
                return "count(*)"
            return self.writer.write(over.aggregate)
        assert over.function is not None
        arguments = [self.writer.write(each) for each in over.arguments]
        if over.function in (OverFunction.LAG, OverFunction.LEAD) and len(over.arguments) == 3:
            arguments[2] = self.writer.cast(over.arguments[2], over.type)
        return f"{over.function.value.lower()}({', '.join(arguments)})"

    def _order(self, over: Over) -> str:
        if over.by_time:
            us = f"{self.table}.{self.words.identifier('@us')}"
            is_range = over.frame is not None and not over.frame.by_rows
            is_rank = over.function in (
                OverFunction.RANK,
                OverFunction.DENSE_RANK,
                OverFunction.PERCENT_RANK,
                OverFunction.CUME_DIST,
            )
            arrival = f"{self.table}.{self.words.identifier('@arrival')}"
            return us if is_range or is_rank else f"{us}, {arrival}"
        return ", ".join(
            f"{self.writer.write(key.expression)} {'DESC' if key.descending else 'ASC'}"
            f" NULLS {'FIRST' if key.nulls_first else 'LAST'}"
            for key in over.order
        )

    def _frame(self, frame: Frame) -> str:
        def end(each: FrameEnd) -> str:
            if each.kind not in (EndKind.BEFORE, EndKind.AFTER):
                return f"{each.kind.value}"
            amount = each.amount if isinstance(each.amount, int) else self.words.double(each.amount)
            return f"{amount} {each.kind.value}"

        unit = "ROWS" if frame.by_rows else "RANGE"
        return f"{unit} BETWEEN {end(frame.start)} AND {end(frame.end)}"


def _windowed(call: str, over: str) -> str:
    """The call with OVER after its closing bracket; casts around it stay around it."""
    for found in _CALL.finditer(call):
        if found.group(1).lower() in _WRAPPERS:
            continue
        depth, at, quoted = 0, found.end() - 1, False
        while at < len(call):
            letter = call[at]
            if letter == "'":
                quoted = not quoted
            elif not quoted and letter == "(":
                depth += 1
            elif not quoted and letter == ")":
                depth -= 1
                if not depth:
                    return call[: at + 1] + over + call[at + 1 :]
            at += 1
    return call + over


def columns_in(*expressions: Expression | None) -> list[Expression]:
    """The columns that some expressions are made of, each once."""
    found: dict[Expression, None] = {}
    waiting = [each for each in reversed(expressions) if each is not None]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ColumnRef):
            found[part] = None
        else:
            waiting.extend(reversed(children(part)))
    return list(found)
