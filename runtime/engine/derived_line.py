"""How far a view has come: as far as the declared streams beneath it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.columns.event_time import ALL_SEEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.stream_input import StreamInput


class DerivedLine:
    """The place of a view among the streams of an engine; `bases` are the folded names of the streams beneath."""

    is_stream = True

    def __init__(self, relation: Relation, lines: Mapping[str, StreamInput]) -> None:
        assert relation.made_by is not None
        self.relation = relation
        self.bases: Sequence[str] = relation.made_by.bases
        self._lines = [lines[base] for base in self.bases]
        self.arrivals = 0

    def number(self, count: int) -> int:
        """Count tuples that were made; the arrival number of the first."""
        first = self.arrivals
        self.arrivals += count
        return first

    def watermark_us(self, watermarks: Mapping[str, int]) -> int:
        """That of its query, given those of all streams."""
        return min((watermarks[base] for base in self.bases), default=ALL_SEEN)

    @property
    def first_us(self) -> int | None:
        """The first event time seen on the streams beneath."""
        seen = [line.first_us for line in self._lines if line.first_us is not None]
        return min(seen, default=None)

    @property
    def latest_us(self) -> int | None:
        """The latest event time seen on the streams beneath."""
        seen = [line.latest_us for line in self._lines if line.latest_us is not None]
        return max(seen, default=None)
