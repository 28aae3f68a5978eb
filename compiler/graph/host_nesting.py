"""Which joins contain which: a join of B, T and H with its equalities contains the joins of T with H among them.

Juggler's picture: the operator of BTHK serves BTH and TH. A host is indexed under every part of two or more of its items,
so finding the wider host of a new one, or the narrower ones, is a lookup.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from cqc.compiler.graph.nodes import JoinHost

_MOST_ITEMS = 8  # a host of more items would have too many parts; it stands alone


class HostNesting:
    """Sets `parent` of hosts as they come and go."""

    def __init__(self) -> None:
        self._whole: dict[Hashable, dict[int, JoinHost]] = {}
        self._containing: dict[Hashable, dict[int, JoinHost]] = {}

    def add(self, host: JoinHost) -> None:
        """Find the host's parent, and the hosts whose parent it can be."""
        own = _part_key(host, tuple(range(len(host.relations))))
        self._whole.setdefault(own, {})[host.number] = host
        host.parent = _least(self._containing.get(own, {}))
        for part in _proper_parts(host):
            self._containing.setdefault(part, {})[host.number] = host
            for narrower in self._whole.get(part, {}).values():
                narrower.parent = _least(self._containing[part])

    def remove(self, host: JoinHost) -> None:
        """Undo `add`."""
        own = _part_key(host, tuple(range(len(host.relations))))
        _discard(self._whole, own, host)
        for part in _proper_parts(host):
            _discard(self._containing, part, host)
            for narrower in self._whole.get(part, {}).values():
                narrower.parent = _least(self._containing.get(part, {}))


def _least(hosts: dict[int, JoinHost]) -> JoinHost | None:
    """The widest host, of those the one with the least number: the same whatever the order they came in."""
    if not hosts:
        return None
    return min(hosts.values(), key=lambda host: (-len(host.relations), host.number))


def _discard(index: dict[Hashable, dict[int, JoinHost]], key: Hashable, host: JoinHost) -> None:
    del index[key][host.number]
    if not index[key]:
        del index[key]


def _proper_parts(host: JoinHost) -> Iterator[Hashable]:
    size = len(host.relations)
    if size > _MOST_ITEMS:
        return
    found = {
        _part_key(host, places)
        for count in range(2, size)
        for places in combinations(range(size), count)
    }
    yield from found


def _part_key(host: JoinHost, places: tuple[int, ...]) -> Hashable:
    """The relations at the places and the equalities among them, numbered from 0."""
    names = tuple([fold(host.relations[place].name) for place in places])
    classes = []
    for each in host.classes:
        inside = tuple([(places.index(item), column) for item, column in each if item in places])
        if len({item for item, _ in inside}) > 1:
            classes.append(inside)
    return names, tuple(sorted(classes))
