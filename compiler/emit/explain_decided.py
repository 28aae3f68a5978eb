"""Windows and OVER in words: what a query waits for, and what is kept for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import (
    Decision,
    EndKind,
    Literal,
    OverFunction,
    WindowKind,
    overs_in,
)
from cqc.compiler.wording.expressions import duration_text, expression_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.bound import Decided, Over, TableWindow
    from cqc.compiler.meaning.normal import NormalQuery

_WAITS = {
    Decision.GROUPS: "delivers a window when the watermark has reached its end",
    Decision.SESSIONS: "delivers a session when the watermark is past its end",
    Decision.SESSION_ROWS: "delivers the rows of a session when the watermark is past its end",
    Decision.ROWS: "delivers a tuple at once, in each of its windows",
}


def decided_facts(query: NormalQuery, decided: Decided) -> Iterator[tuple[str, str]]:
    """The lines of explain about what waits."""
    if decided.window is not None:
        yield "windows", _window_text(query, decided.window)
    if decided.end is not None:
        alias = query.items[decided.by].alias
        name = query.items[decided.by].relation.columns[decided.end.column].name
        after = f", {duration_text(decided.end.add_us)} after it" if decided.end.add_us else ""
        yield "windows", f"end with {alias}.{name}{after}"
    yield "waits", _waits_text(decided)
    overs = overs_in(
        *(output.expression for output in query.outputs),
        decided.qualify,
        *(order.expression for order in decided.order_by),
    )
    relations = [item.relation for item in query.items]
    aliases = [item.alias for item in query.items]
    for over in overs:
        yield "over", expression_text(over, relations, aliases)
        if decided.decision is Decision.RUNNING:
            yield "keeps", _kept_text(over, decided.key_idle_us)


def _window_text(query: NormalQuery, window: TableWindow) -> str:
    size = duration_text(window.size_us)
    if window.kind is WindowKind.SESSION:
        relations = [item.relation for item in query.items]
        aliases = [item.alias for item in query.items]
        keys = [expression_text(key, relations, aliases) for key in window.keys]
        of = f" of {', '.join(keys)}" if keys else ""
        return f"sessions{of}, tuples at most {size} apart"
    if window.kind is WindowKind.TUMBLE:
        return f"of {size}, one after the other"
    return f"of {size}, one every {duration_text(window.slide_us)}"


def _waits_text(decided: Decided) -> str:
    if decided.decision in _WAITS:
        return _WAITS[decided.decision]
    if decided.decision is Decision.COMPLETE and not decided.waits_for_equals:
        return "delivers the rows of a window when the watermark has reached its end"
    if decided.waits_for_equals:
        return "delivers a row when the watermark is past its event time"
    return "delivers a row when the watermark has reached its event time"


def _kept_text(over: Over, idle_us: int | None) -> str:
    """What is kept of each key, and for how long."""
    each = "for each key" if over.partition else "in all"
    frame = over.frame
    if frame is not None and frame.start.kind is EndKind.FIRST:
        what = f"what the rows so far come to, {each}"
    elif frame is not None and not frame.by_rows:
        return f"the rows of the last {duration_text(int(frame.start.amount))}"
    elif frame is not None:
        what = f"the last {int(frame.start.amount):,} rows {each}"
    elif over.function is OverFunction.LAG:
        offset = over.arguments[1] if len(over.arguments) > 1 else None
        count = offset.value if isinstance(offset, Literal) else 1
        what = f"the last {count} rows {each}" if count != 1 else f"the last row {each}"
    else:
        what = f"a number {each}"
    if idle_us is None:
        return f"{what}, for ever"
    return f"{what}, until it was silent for {duration_text(idle_us)}"
