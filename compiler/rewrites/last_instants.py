"""How long after some tuples a partner of theirs can come: upper bounds between event times, open ones told from closed ones.

The time bounds of a join (`time_bounds`) say the same in whole units, in which `B.ts < A.ts + 10` is `B.ts <= A.ts + 9`. A row
without B is decided at 10 all the same, so here the value of a bound stays as it was written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from cqc.compiler.meaning.bound import Comparison
from cqc.compiler.meaning.window_columns import equal_pair, of_item
from cqc.compiler.rewrites.mentioned_items import item_mask, items_of
from cqc.compiler.rewrites.window_conditions import upper_bounds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.bound import Expression, Item
    from cqc.compiler.meaning.window_columns import Place, WindowColumn


class Edge(NamedTuple):
    """`ts_later <= ts_earlier + us`, or `<` where it is open.

    With `columns` it is counted from the value of a window column of the earlier item, which equals one of the later.
    """

    earlier: int
    later: int
    us: int
    open: bool
    columns: tuple[int, int] | None = None


End = tuple[
    int, int, int
]  # the place of a source, its window column, and the bound as in `Guard.reach`


def edges_of_condition(condition: Expression, items: Sequence[Item]) -> list[Edge]:
    """What a condition says of event times; OR and NOT bound nothing."""
    if not isinstance(condition, Comparison):
        return []
    known = {at: of_item(items[at]) for at in items_of(item_mask(condition))}
    pair = equal_pair(condition, known)
    if pair is not None:
        return [*_window_edges(*pair, known), *_window_edges(*pair[::-1], known)]
    return [Edge(*each) for each in upper_bounds(condition, items)]


def _window_edges(
    earlier: Place, later: Place, known: Mapping[int, Mapping[int, WindowColumn]]
) -> list[Edge]:
    """What equal window columns say of the later item: it is not after the end of the window."""
    one, two = known[earlier[0]][earlier[1]], known[later[0]][later[1]]
    if two.last is None:
        return []
    us, is_open = two.last
    found = [Edge(earlier[0], later[0], us, is_open, (earlier[1], later[1]))]
    if one.least_us is not None:
        found.append(Edge(earlier[0], later[0], us - one.least_us, is_open))
    return found


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
        distance = _distances({source: (0, True)}, frozenset(sources), edges)
        for place, item in enumerate(inside):
            if item in distance:
                us, closed = distance[item]
                found[place][at] = 2 * us - (not closed)
    return tuple(map(tuple, found))


def ends_of(
    sources: Sequence[int], inside: Sequence[int], edges: Sequence[Edge]
) -> tuple[tuple[End, ...], ...]:
    """For each item inside the window columns of sources that say how far it can be after their values."""
    found: list[list[End]] = [[] for _ in inside]
    equal: dict[Place, frozenset[Place]] = {}
    for edge in edges:
        if edge.columns is not None:
            pair = (edge.earlier, edge.columns[0]), (edge.later, edge.columns[1])
            both = frozenset(pair).union(*(equal.get(each, ()) for each in pair))
            equal |= dict.fromkeys(both, both)
    for (item, column), among in sorted(equal.items()):
        if item not in sources:
            continue
        begun: dict[int, tuple[int, bool]] = {}
        for edge in edges:
            if edge.columns is not None and (edge.later, edge.columns[1]) in among:
                reached = edge.us, not edge.open
                begun[edge.later] = min(begun.get(edge.later, reached), reached)
        begun = {at: each for at, each in begun.items() if at not in sources}
        distance = _distances(begun, frozenset(sources), edges)
        for place, other in enumerate(inside):
            if other in distance:
                us, closed = distance[other]
                found[place].append((sources.index(item), column, 2 * us - (not closed)))
    return tuple(map(tuple, found))


def _distances(
    begun: Mapping[int, tuple[int, bool]], sources: frozenset[int], edges: Sequence[Edge]
) -> dict[int, tuple[int, bool]]:
    """The tightest bounds on every item after what is known: microseconds, and whether closed (False is tighter).

    Paths do not lead through other sources: those are tuples that are there, with bounds of their own.
    """
    known = dict(begun)
    for _ in range(len(edges) + 1):
        changed = False
        for edge in edges:
            if edge.columns is not None:
                continue
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
