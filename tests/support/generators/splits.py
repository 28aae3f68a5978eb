"""How input is cut and mixed on its way in: neither may change an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.generators.data import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

MicroBatch = dict[str, list[Row]]


def shuffled_streams(rng: Random, streams: Mapping[str, Sequence[Row]]) -> list[tuple[str, Row]]:
    """The streams interleaved at random, each in its own order."""
    waiting = {name: list(rows) for name, rows in streams.items() if rows}
    arrivals = []
    while waiting:
        name = rng.choice(sorted(waiting))
        count = rng.randint(1, 4)
        arrivals += [(name, row) for row in waiting[name][:count]]
        del waiting[name][:count]
        if not waiting[name]:
            del waiting[name]
    return arrivals


def micro_batches(rng: Random, arrivals: Sequence[tuple[str, Row]]) -> list[MicroBatch]:
    """The arrivals cut at random places; one style of cutting per call, from single tuples to everything."""
    largest = rng.choice([1, 3, 10, len(arrivals) + 1])
    batches: list[MicroBatch] = []
    position = 0
    while position < len(arrivals):
        size = rng.randint(1, largest)
        batch: MicroBatch = {}
        for name, row in arrivals[position : position + size]:
            batch.setdefault(name, []).append(row)
        batches.append(batch)
        position += size
    return batches
