"""How long after some tuples a partner of theirs can come: upper bounds between event times, open ones told from closed ones.

The time bounds of a join (`time_bounds`) say the same in whole units, in which `B.ts < A.ts + 10` is `B.ts <= A.ts + 9`. A row
without B is decided at 10 all the same, so here the value of a bound stays as it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cqc.compiler.meaning.bound import Comparison
from cqc.compiler.rewrites.window_conditions import upper_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.bound import Expression, Item


class Edge(NamedTuple):
    """`ts_later <= ts_earlier + us`, or `<` where it is open."""

    earlier: int
    later: int
    us: int
    open: bool


def edges_of_condition(condition: Expression, items: Sequence[Item]) -> list[Edge]:
    """What a condition says of event times; OR and NOT bound nothing."""
    if not isinstance(condition, Comparison):
        return []
    return [Edge(*each) for each in upper_bounds(condition, items)]


def edges_of_windows(
    streams: Sequence[int], max_window_us: int | None, ranges: Mapping[int, int | None]
) -> list[Edge]:
    """What MAXWINDOW and RANGE say of stream items that are together."""
    found = []
    for earlier in streams:
        widths = [us for us in (max_window_us, ranges.get(earlier)) if us is not None]
        if widths:
            found += [Edge(earlier, at, min(widths), False) for at in streams if at != earlier]
    return found


def reach_of(
    sources: Sequence[int], inside: Sequence[int], edges: Sequence[Edge]
) -> tuple[tuple[int | None, ...], ...]:
    """For each item inside and each source how far the one can be after the other, by shortest paths; as in `Guard.reach`."""
    found: list[list[int | None]] = [[None] * len(sources) for _ in inside]
    for at, source in enumerate(sources):
        distance = _distances(source, frozenset(sources), edges)
        for place, item in enumerate(inside):
            if item in distance:
                us, closed = distance[item]
                found[place][at] = 2 * us - (not closed)
    return tuple(map(tuple, found))


def _distances(
    source: int, sources: frozenset[int], edges: Sequence[Edge]
) -> dict[int, tuple[int, bool]]:
    """The tightest bounds on every item after one source: microseconds, and whether closed (False is tighter).

    Paths do not lead through other sources: those are tuples that are there, with bounds of their own.
    """
    known: dict[int, tuple[int, bool]] = {source: (0, True)}
    for _ in range(len(edges) + 1):
        changed = False
        for edge in edges:
            if edge.earlier not in known or edge.later in sources:
                continue
            us, closed = known[edge.earlier]
            reached = (us + edge.us, closed and not edge.open)
            if edge.later not in known or reached < known[edge.later]:
                known[edge.later] = reached
                changed = True
        if not changed:
            break
    return known
