"""TUMBLE, HOP and SESSION beside other FROM items: such an item is read as a view that adds the columns of its windows.

    FROM TUMBLE(a, 10 SEC) x, TUMBLE(b, 10 SEC) y WHERE x.window_end = y.window_end
    FROM (SELECT *, window_start, window_end FROM TUMBLE(a, 10 SEC)) x, ...

The rows of a session come when it is past, with its end as their event time, so a query that groups them groups by a window
column that a view passes on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.expression import conjunction
from cqc.compiler.bind.table_functions import widened
from cqc.compiler.meaning.bound import (
    And,
    ColumnRef,
    Decided,
    Decision,
    Item,
    Output,
    PassedEnd,
    Query,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.views import View
from cqc.compiler.rewrites.mentioned_items import item_mask, renumber

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.diagnostics.source import Span
    from cqc.compiler.meaning.bound import Expression


def as_views(items: Sequence[Item]) -> list[Item]:
    """The items with views in the place of TUMBLE and HOP."""
    return [item if item.window is None else _as_view(item, Decision.ROWS) for item in items]


def both_conditions(
    one: Expression | None, two: Expression | None, span: Span
) -> Expression | None:
    """A condition that says what two say."""
    parts = [each for each in (one, two) if each is not None]
    return conjunction(parts, span) if parts else None


def with_session_view(
    items: Sequence[Item], where: Expression | None, decided: Decided
) -> tuple[list[Item], Expression | None, Decided]:
    """A query that groups sessions beside tables, over a view of their rows: conditions on the item come before sessions."""
    by, window = decided.by, decided.window
    assert window is not None
    parts = () if where is None else where.operands if isinstance(where, And) else (where,)
    own = [part for part in parts if item_mask(part) == 1 << by]
    others = [part for part in parts if part not in own]
    positions = [-1] * len(items)
    positions[by] = 0
    inside = [renumber(part, positions) for part in own]
    keys = tuple(renumber(key, positions) for key in window.keys)
    item = replace(items[by], window=replace(window, keys=keys))
    condition = conjunction(inside, item.span) if inside else None
    view = _as_view(item, Decision.SESSION_ROWS, condition)
    last = len(view.relation.columns) - 1
    late = [*others, *([] if decided.kept is None else [decided.kept])]
    changed = replace(
        decided,
        decision=Decision.GROUPS,
        window=None,
        kept=None,
        end=PassedEnd(last, window.type, 0, is_late=True),
    )
    together = [view if at == by else each for at, each in enumerate(items)]
    return together, conjunction(late, item.span) if late else None, changed


def _as_view(item: Item, decision: Decision, where: Expression | None = None) -> Item:
    """A view that adds the columns of windows to a relation, under the name of the item."""
    window = item.window
    assert window is not None
    wide = widened(item.relation, window)
    outputs = tuple(
        Output(column.name, ColumnRef(0, at, column.type, item.span))
        for at, column in enumerate(wide.columns)
    )
    decided = Decided(decision, 0, window, None, False, (), None, None, (), None, False, False)
    made = Query(item.alias, (item,), outputs, where, None, None, None, item.span, decided=decided)
    numeric = item.relation.time_type is not ColumnType.TIMESTAMP
    view = View((made,), False, False, None, numeric)
    time = wide.event_time if decision is Decision.ROWS else len(wide.columns) - 1
    relation = replace(
        wide, name=item.alias, event_time=time, delay_us=0, options={}, view=view, made_by=None
    )
    return Item(item.alias, relation, None, None, item.span)
