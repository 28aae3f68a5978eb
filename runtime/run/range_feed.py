"""Micro-batches of ranges: parts of files that a planner hands out, read where they are needed.

A range may go a long way before it is read: a *carrier* such as Spark's stream takes it and gives it back, and from then on
knows that everything it gave back before counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import join_taken
from cqc.runtime.run.driver import MicroBatch
from cqc.runtime.sources.read_range import read_range

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.sources.range import Range


class Carrier(Protocol):
    """Takes the ranges of a micro-batch on a way of its own, such as Spark's stream."""

    def deliver(self, ranges: list[Range]) -> list[Range]:
        """Wait for the ranges to arrive and return them. The call also says that everything delivered before counts."""

    def stop(self) -> None:
        """End every wait."""

    def close(self) -> None:
        """End it."""


class RangeSource(Protocol):
    """Knows which ranges come next, and what is in them."""

    def next_ranges(self) -> list[Range]:
        """Those of the next micro-batch; none when there is no input at present."""

    def read(self, ranges: Sequence[Range]) -> MicroBatch:
        """What is in them."""

    def awaits_more(self) -> bool:
        """Whether there may be more input although there is none at present."""


class RangeFeed:
    """The micro-batches of a source, on the way of a carrier; without one they are read as soon as they are planned."""

    def __init__(self, source: RangeSource, carrier: Carrier | None = None) -> None:
        self._source = source
        self._carrier = carrier

    def next_batch(self, reached_us: Mapping[str, int]) -> MicroBatch | None:
        """The next micro-batch; None when there is none at present."""
        del reached_us  # the source has been told
        ranges = self._source.next_ranges()
        if self._carrier is not None:
            ranges = self._carrier.deliver(ranges)
        return self._source.read(ranges) if ranges else None

    @property
    def has_ended(self) -> bool:
        """Whether there will never be more."""
        return not self._source.awaits_more()


def read_ranges(
    relations: Mapping[str, Relation],
    ranges: Sequence[Range],
    leave_out: Callable[[Range, RunError], None] | None = None,
) -> MicroBatch:
    """Read ranges as one micro-batch.

    Args:
        relations: the streams, by folded name.
        ranges: what to read.
        leave_out: told of each file that cannot be read; the rest is read all the same. Without it that is an error.

    Raises:
        RunError: when one cannot be read.
    """
    parts: dict[str, list[TypedBatch]] = {}
    read: list[Range] = []
    bad: set[tuple[str, str]] = set()
    for part in ranges:
        if (part.stream, part.path) in bad:
            continue
        try:
            taken = list(read_range(relations[part.stream], part))
        except RunError as error:
            if leave_out is None:
                raise
            bad.add((part.stream, part.path))
            leave_out(part, error)
            continue
        parts.setdefault(part.stream, []).extend(taken)
        read.append(part)
    return MicroBatch({name: join_taken(taken) for name, taken in parts.items() if taken}, read)
