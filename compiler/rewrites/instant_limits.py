"""What comparisons with instants say about the distance of event times.

    WINDOW A.ts >= TIMESTAMP '2024-01-01 08:00:00' AND B.ts <= TIMESTAMP '2024-01-01 09:00:00'

puts B at most an hour after A. Where nothing else bounds a join this does, and A need not be kept for ever.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from cqc.compiler.meaning.normal import AllOf, ValueAtom
from cqc.compiler.meaning.time_bounds import TimeLimit
from cqc.compiler.meaning.times.durations import SECOND_US
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Item
    from cqc.compiler.meaning.normal import Formula, Value

_FARTHEST_US = 2**62  # limits beyond leave no room for arithmetic on them


def instant_limits(items: Sequence[Item], filters: Sequence[Formula]) -> list[TimeLimit]:
    """A limit for each pair of streams, the earlier with a first instant and the later with a last one."""
    spans = [_first_and_last(*each) for each in zip(items, filters, strict=True)]
    limits: list[TimeLimit] = []
    for earlier, (first, _) in enumerate(spans):
        for later, (_, last) in enumerate(spans):
            if earlier != later and first is not None and last is not None:
                limits.append(TimeLimit(earlier, later, last - first))
    return limits


def _first_and_last(item: Item, condition: Formula) -> tuple[int | None, int | None]:
    """The first and the last instant that a stream's condition lets through, in microseconds."""
    atom = _on_event_time(item, condition)
    if atom is None or not atom.intervals:
        return None, None
    low, high = atom.intervals[0].low, atom.intervals[-1].high
    return _instant_us(low, atom.type, down=True), _instant_us(high, atom.type, down=False)


def _on_event_time(item: Item, condition: Formula) -> ValueAtom | None:
    parts = condition.parts if isinstance(condition, AllOf) else (condition,)
    for part in parts:
        if isinstance(part, ValueAtom) and part.column == item.relation.event_time:
            return part
    return None


def _instant_us(value: Value | None, type_: ColumnType, *, down: bool) -> int | None:
    """The instant of an event time; a number counts seconds and is rounded outwards."""
    if not isinstance(value, int | float) or not math.isfinite(value):
        return None
    us = Fraction(value) * (1 if type_ is ColumnType.TIMESTAMP else SECOND_US)
    whole = math.floor(us) if down else math.ceil(us)
    return whole if abs(whole) < _FARTHEST_US else None
