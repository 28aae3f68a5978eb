"""One query in words: its conditions by class, its windows, and what is kept for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.emit.explain_absence import absence_facts
from cqc.compiler.emit.explain_alert import alert_facts
from cqc.compiler.emit.explain_decided import decided_facts
from cqc.compiler.graph.lower import restore
from cqc.compiler.graph.picture import expression_atoms
from cqc.compiler.meaning.normal import ALWAYS, TimeBounds
from cqc.compiler.meaning.times.instants import format_instant
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.syntax.join_hint import hint_text
from cqc.compiler.wording.expressions import (
    duration_text,
    expression_text,
    formula_text,
    name_text,
    path_text,
)
from cqc.compiler.wording.times import pair_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cqc.compiler.graph.nodes import Body, QueryNode
    from cqc.compiler.meaning.bound import Instant, Pull
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery

_WIDTH = 10


def query_lines(node: QueryNode, note: str = "") -> Iterator[str]:
    """The lines of one query."""
    kind = "push" if node.pull is None else "pull"
    yield f"{node.name} ({kind}{_shared_with(node)}){note}"
    query = restore(node)
    for name, text in query_facts(query):
        yield f"  {name:<{_WIDTH}} {text}"
    if not any(body.can_match for body in node.bodies):
        yield f"  {'never':<{_WIDTH}} its conditions contradict one another: it can never match"


def _shared_with(node: QueryNode) -> str:
    """The queries that read the same tuples: those that ask the same of them, and the others."""
    if node.patterns:
        return ""
    others = [each for each in node.body.queries if each is not node and not each.patterns]
    same: list[QueryNode] = []
    rest: list[QueryNode] = []
    for each in others:
        (same if _asks_the_same(node, each) else rest).append(each)
    return _as_one("the same question", same) + _as_one("the same conditions", rest)


def _asks_the_same(node: QueryNode, other: QueryNode) -> bool:
    """Of two queries of one body: whether they also select, group and window alike. Equal outputs are one object."""
    return (
        node.outputs is other.outputs
        and node.pull == other.pull
        and node.decided == other.decided
        and node.positions == other.positions
    )


def _as_one(what: str, others: Sequence[QueryNode]) -> str:
    if not others:
        return ""
    more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
    return f", {what} as {others[0].name}{more}"


def query_facts(query: NormalQuery) -> Iterator[tuple[str, str]]:
    """What a query asks and what is kept for it, by kind of fact."""
    return absence_facts(query, _facts) if query.patterns else _facts(query)


def _facts(query: NormalQuery) -> Iterator[tuple[str, str]]:
    aliases = [item.alias for item in query.items]
    relations = [item.relation for item in query.items]
    many = len(aliases) > 1
    for item, formula in zip(query.items, query.filters, strict=True):
        if formula != ALWAYS:
            prefix = f"{name_text(item.alias)}: " if many else ""
            why = ""
            if any(expression_atoms(formula)):
                why = "   (in part by expression: not one column against constants)"
            yield "attribute", f"{prefix}{formula_text(formula, item.relation)}{why}"
    for join in query.equi_joins:
        left = f"{name_text(aliases[join.left_item])}.{_column(relations[join.left_item], join.left_column)}"
        right = f"{name_text(aliases[join.right_item])}.{_column(relations[join.right_item], join.right_column)}"
        yield "equi-join", f"{left} = {right}   (hash index on both)"
    for theta in query.theta_joins:
        text = expression_text(theta.expression, relations, aliases)
        yield "theta", f"{text}   (linear in one column of each side: predicate list)"
    for residual in query.residuals:
        text = expression_text(residual.expression, relations, aliases)
        yield "residual", f"{text}   (evaluated on what survives the rest)"
    if many:
        yield from _time_facts(query, aliases)
    if query.join_hint is not None:
        shape = hint_text(query.join_hint, [name_text(alias) for alias in aliases])
        yield "shape", f"{shape}   (hint; --join other than auto comes before it)"
    if query.pull is not None:
        yield "asks", _pull_text(query)
    if query.decided is not None:
        yield from decided_facts(query, query.decided)
    if query.alert is not None:
        yield from alert_facts(query, query.alert)
    yield "delivers", ", ".join(name_text(output.name) for output in query.outputs)
    if query.destinations is not None:
        if query.destinations.into:
            yield "into", ", ".join(map(name_text, query.destinations.into))
        for key, text in query.destinations.texts:
            yield "with", f"{name_text(key)} = {text}"


def _column(relation: Relation, column: int) -> str:
    return path_text(relation, column)


def _time_facts(query: NormalQuery, aliases: Sequence[str]) -> Iterator[tuple[str, str]]:
    for text in pair_texts(_shown_bounds(query), [name_text(alias) for alias in aliases]):
        yield "window", text
    for item in query.items:
        if item.rows is not None:
            yield "window", f"{name_text(item.alias)} among the last {item.rows:,} of its stream"
    if query.pull is None:
        kept = []
        for at, item in enumerate(query.items):
            if item.relation.is_stream:
                us = _shown_bounds(query).keep_us(at)
                kept.append(f"{name_text(item.alias)} {_kept(us, item.rows)}")
        yield "keeps", ", ".join(kept)


def _shown_bounds(query: NormalQuery) -> TimeBounds:
    """The bounds, without the few milliseconds that DOUBLE event time adds for rounding."""
    times = {item.relation.time_type for item in query.items if item.relation.is_stream}
    if ColumnType.DOUBLE not in times:
        return query.bounds
    most = tuple(
        tuple(None if us is None else round(us, -4) for us in row) for row in query.bounds.most_us
    )
    return TimeBounds(most, query.bounds.contradictory)


def _kept(us: int | None, rows: int | None) -> str:
    if us is not None:
        return duration_text(max(us, 0))
    return f"its last {rows:,} tuples" if rows is not None else "everything"


def kept_text(relation: Relation, bodies: Sequence[Body]) -> str:
    """How much of a stream its shared state keeps for push joins."""
    longest, rows, is_endless = 0, 0, False
    for body in bodies:
        for at, each in enumerate(body.relations):
            if each.name != relation.name or not body.can_match:
                continue
            us = body.bounds.keep_us(at)
            if us is not None:
                longest = max(longest, us)
            elif body.rows and body.rows[at] is not None:
                rows = max(rows, body.rows[at] or 0)
            elif body.has_push:
                is_endless = True
    if is_endless:
        return "every tuple for ever (MAXWINDOW UNBOUNDED)"
    parts = [f"{duration_text(longest)} of tuples"] if longest or not rows else []
    parts += [f"the last {rows:,} tuples"] if rows else []
    late = f" (and {duration_text(relation.delay_us)} of lateness)" if relation.delay_us else ""
    return " and ".join(parts) + late


def _pull_text(query: NormalQuery) -> str:
    pull = query.pull
    assert pull is not None
    if pull.inherits:
        return f"the window of its reader{_shape_text(pull)}"
    streams = [item.relation for item in query.items if item.relation.is_stream]
    made = [item.relation.made_by for item in query.items if item.relation.made_by is not None]
    is_number = any(bool(each.numeric_time) for each in made) or (
        bool(streams) and streams[0].time_type is not ColumnType.TIMESTAMP
    )
    begin, end = (_instant_text(each, is_number=is_number) for each in (pull.begin, pull.end))
    first = "after" if pull.begin.exclusive else "from"
    last = "before" if pull.end.exclusive else "to"
    every = f", every {duration_text(pull.every_us)}" if pull.every_us is not None else ""
    return f"{first} {begin} {last} {end}{every}{_shape_text(pull)}"


def _shape_text(pull: Pull) -> str:
    words = []
    if pull.group_by:
        words.append("grouped")
    elif pull.is_aggregate:
        words.append("one row of aggregates")
    if pull.distinct:
        words.append("distinct")
    if pull.order_by:
        words.append("ordered")
    if pull.limit is not None:
        words.append(f"at most {pull.limit:,} rows")
    return "".join(f", {word}" for word in words)


def _instant_text(instant: Instant, *, is_number: bool) -> str:
    if not instant.from_now:
        us = instant.offset_us
        return f"{us / 1_000_000:g}" if is_number else format_instant(us)
    if instant.offset_us == 0:
        return "NOW"
    sign = "+" if instant.offset_us > 0 else "-"
    return f"NOW {sign} {duration_text(abs(instant.offset_us))}"
