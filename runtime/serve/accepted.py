"""What became of the rows that somebody pushed, in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.intake.stream_input import StreamCount


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of pushed rows."""

    read: int
    accepted: int
    late: int
    rejected: int
    reasons: dict[str, int]
    waiting: int = 0  # more of them are set aside now, because they are far ahead
    nulled: dict[str, int] = field(default_factory=dict)  # fields that did not fit and became NULL
    warnings: list[str] = field(default_factory=list)  # columns that no row has had so far


def accepted(before: Sequence[StreamCount], after: Sequence[StreamCount]) -> Accepted:
    """What changed in the counts of some streams."""
    pairs = list(zip(before, after, strict=True))
    reasons: Counter[str] = Counter()
    for old, new in pairs:
        reasons.update(new.reasons - old.reasons)
    read = sum(new.read - old.read for old, new in pairs)
    late = sum(new.late - old.late for old, new in pairs)
    waiting = sum(new.waiting - old.waiting for old, new in pairs)
    taken = read - late - reasons.total() - waiting
    nulled: Counter[str] = Counter()
    for old, new in pairs:
        nulled.update(new.nulled - old.nulled)
    return Accepted(read, taken, late, reasons.total(), dict(reasons), waiting, dict(nulled))
