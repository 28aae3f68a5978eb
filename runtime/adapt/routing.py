"""Which operator next: in what order a new tuple meets the other items of a join (CACQ's eddy, per packet).

- `lottery`: an item earns a ticket for every row it takes and pays one for every row it returns, so items that make few
  rows of many hold most tickets; the next item is drawn by tickets. Old tickets decay, and every item keeps one, so a
  change is noticed.
- `fixed`: the order of the items, those connected by an equality first. `random`: any such order, drawn again and again.
- `selectivity` (greedy on measured fan-out) is what the join does by itself: see `join/plan/item_order`.

Draws come from a seeded generator: a run can be repeated.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Protocol

from cqc.runtime.adapt.settings import ROUTING_DECAY, ROUTING_SEED

if TYPE_CHECKING:
    from collections.abc import Sequence


class Policy(Protocol):
    """Decides for one starting item."""

    def draw(self, ready: Sequence[int]) -> int:
        """The next of the items that are ready."""

    def learn(self, item: int, taken: int, returned: int) -> None:
        """How many rows an item took of the last packet, and how many it returned."""


class Fixed:
    """Always the first."""

    def draw(self, ready: Sequence[int]) -> int:
        return ready[0]

    def learn(self, item: int, taken: int, returned: int) -> None:
        del item, taken, returned


class AtRandom:
    """Any of them."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def draw(self, ready: Sequence[int]) -> int:
        return self._random.choice(ready)

    def learn(self, item: int, taken: int, returned: int) -> None:
        del item, taken, returned


class Lottery:
    """By tickets."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.tickets: dict[int, float] = {}

    def draw(self, ready: Sequence[int]) -> int:
        weights = [1.0 + max(0.0, self.tickets.get(item, 0.0)) for item in ready]
        return self._random.choices(ready, weights)[0]

    def learn(self, item: int, taken: int, returned: int) -> None:
        self.tickets[item] = ROUTING_DECAY * self.tickets.get(item, 0.0) + taken - returned


def policy_of(routing: str, start: int) -> Policy:
    """The policy that `--routing` names, for a starting item."""
    if routing == "lottery":
        return Lottery(ROUTING_SEED + start)
    return AtRandom(ROUTING_SEED + start) if routing == "random" else Fixed()


def order_by(
    policy: Policy, start: int, items: Sequence[int], edges: frozenset[tuple[int, int]]
) -> tuple[int, ...]:
    """The other items as the policy draws them; ready are those that an equality connects, else all that are left."""
    bound = [start]
    rest = [item for item in items if item != start]
    while rest:
        ready = [
            item
            for item in rest
            if any((min(item, other), max(item, other)) in edges for other in bound)
        ]
        chosen = policy.draw(ready or rest)
        bound.append(chosen)
        rest.remove(chosen)
    return tuple(bound[1:])
