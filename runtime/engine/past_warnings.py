"""What whoever registers a query with absence over the past should know: what came before does not count, so it may seem missing.

NOT EXISTS (SELECT 1 FROM logins o WHERE o.user = n.user WINDOW o.ts < n.ts AND o.ts >= n.ts - 14 DAYS), registered at noon
on the 1st: until noon on the 15th a login may be called the first that is not
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import bases_of
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.wording.expressions import duration_text
from cqc.runtime.pull.pull_window import show_instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.compiler.meaning.absence import Guard, Pattern
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.intake.stream_input import StreamInput

_FOR_EVER = 2**62


def past_warnings(query: NormalQuery, lines: Mapping[str, StreamInput]) -> tuple[str, ...]:
    """What to say of a query that is registered now; nothing where no past can be missing.

    Args:
        query: as it is registered.
        lines: how far each declared stream has come, by folded name.
    """
    if query.pull is not None:
        return ()
    found = [each for each in _looks_back(query) if each[0] > 0]
    if not found:
        return ()
    back_us = max(us for us, _ in found)
    seen = [lines[name] for _, names in found for name in names if name in lines]
    latest = [line for line in seen if line.latest_us is not None]
    if not latest:
        return ()  # nothing came before it
    newest = max(latest, key=lambda line: line.latest_us or 0)
    if back_us >= _FOR_EVER:
        since = show_instant(newest.latest_us or 0, newest.relation.time_type)
        why = f"it knows nothing of what came before {since}, however far it looks back"
        return (f"query {query.name} asks what was missing in the past: {why}",)
    complete = show_instant((newest.latest_us or 0) + back_us, newest.relation.time_type)
    why = "what came before it was registered does not count"
    looks = f"looks back {duration_text(back_us)} for what is missing"
    return (f"query {query.name} {looks}, and {why}: its past is complete from {complete} on",)


def _looks_back(query: NormalQuery) -> Iterator[tuple[int, tuple[str, ...]]]:
    """How far back each absence looks, in microseconds, and the declared streams that it looks at."""
    for pattern in all_patterns(query.patterns):
        for guard in pattern.guards:
            if guard.negated:
                yield _back_us(pattern, guard), _bases(guard)
    items = [item for each in all_patterns(query.patterns) for item in each.query.items]
    for item in items or query.items:
        made_by = item.relation.made_by
        for branch in () if made_by is None else made_by.branches:
            yield from _looks_back(branch)


def _bases(guard: Guard) -> tuple[str, ...]:
    relations = [item.relation for each in all_patterns(guard.marks) for item in each.query.items]
    return bases_of(relations)


def _back_us(pattern: Pattern, guard: Guard) -> int:
    if guard.keys is not None:
        return _FOR_EVER
    watched = {pattern.items[at] for at in guard.over}
    farthest = 0
    for mark in guard.marks:
        streams = [at for at, item in enumerate(mark.query.items) if item.relation.is_stream]
        outer = [at for at in streams if mark.items[at] in watched]
        for inner in (at for at in streams if mark.items[at] not in watched):
            known = [mark.query.bounds.most_us[inner][at] for at in outer]
            farthest = max([farthest, *(us for us in known if us is not None)])
    return farthest
