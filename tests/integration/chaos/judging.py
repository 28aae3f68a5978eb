"""Comparing what came out with what had to, and what could.

A query that was there from the beginning must give all of its answer. One that came later must give what is made of rows that
arrived while it was seen to run, and may give anything true: when exactly it took effect is the engine's business.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.integration.chaos.ledger import Fault
from tests.integration.chaos.queries import Every, canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.integration.chaos.queries import Answer, Query
    from tests.integration.chaos.world import World

_SHOWN = 3


@dataclass
class Standing:
    """A query, and the rows between which it was surely there: per stream, how many had arrived then."""

    query: Query
    since: dict[str, int] = field(default_factory=dict)
    asked_to_go: dict[str, int] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)
    seen: bool = True  # it was seen to run
    from_the_start: bool = True
    sure: bool = True  # nothing happened that lets it come and go unseen


def counts(world: World) -> dict[str, int]:
    return {name: len(stream.rows) for name, stream in world.streams.items()}


def must_give(standing: Standing, world: World, over: Mapping[str, float] | None = None) -> Answer:
    """What has to be in the output."""
    if not standing.seen or not standing.sure:
        return Counter()
    if isinstance(standing.query, Every) and not standing.from_the_start:
        return Counter()
    rows = {
        name: stream.rows[standing.since.get(name, 0) : standing.asked_to_go.get(name)]
        for name, stream in world.streams.items()
    }
    return standing.query.answer(rows, over or reached(world))


def may_give(standing: Standing, world: World, over: Mapping[str, float] | None = None) -> Answer:
    """What can be in the output."""
    rows = {name: stream.rows[: standing.gone.get(name)] for name, stream in world.streams.items()}
    if isinstance(standing.query, Every):
        rows = {name: stream.rows for name, stream in world.streams.items()}
    return standing.query.answer(rows, over or reached(world))


def reached(world: World) -> dict[str, float]:
    """The watermarks when everything has been read."""
    return {name: stream.latest - stream.delay for name, stream in world.streams.items()}


@dataclass
class Comparison:
    """What is missing, what came too often, and what is not true."""

    missing: Answer
    repeated: Answer
    untrue: Answer

    def raise_faults(self) -> None:
        """Raise the worst of it.

        Raises:
            Fault: when there is anything.
        """
        for kind, lines, words in (
            ("silently wrong", self.untrue, "not true"),
            ("repeated", self.repeated, "given more than once"),
            ("lost", self.missing, "never came"),
        ):
            if lines:
                shown = "; ".join(sorted(lines)[:_SHOWN])
                raise Fault(kind, lines.total(), f"{words}, {lines.total()} results: {shown}")


def compare(found: Answer, standings: Iterable[Standing], world: World) -> Comparison:
    must: Answer = Counter()
    may: Answer = Counter()
    for standing in standings:
        must += must_give(standing, world)
        may += may_give(standing, world)
    return compare_exactly(found, must, may)


def compare_exactly(found: Answer, must: Answer, may: Answer) -> Comparison:
    untrue = Counter({line: count for line, count in found.items() if line not in may})
    return Comparison(must - found, (found - may) - untrue, untrue)


def lines_of(data: bytes) -> Answer:
    """The results in some output; what is no result is told as it is."""
    found: Answer = Counter()
    for line in data.split(b"\n"):
        if line:
            found[_line(line)] += 1
    return found


def _line(line: bytes) -> str:
    try:
        return canonical(json.loads(line))
    except ValueError:
        return f"broken line {line[:80]!r}"


def without(found: Answer, names: Iterable[str]) -> Answer:
    """The results of all other queries."""
    parts = tuple(f'"query": "{name}"' for name in names)
    return Counter(
        {line: count for line, count in found.items() if not any(part in line for part in parts)}
    )
