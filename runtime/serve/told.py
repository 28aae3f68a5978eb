"""What a service says of the rows that come: each thing once, not with every push."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.intake.far_ahead import COMPANY
from cqc.runtime.intake.intake_warnings import absent_columns, intake_warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from cqc.runtime.intake.stream_input import StreamInput

_ROWS_BEFORE_INTAKE_IS_TOLD = 100  # a few rows may lack anything


class Told:
    """Remembers what was said.

    Args:
        report: told the sentences that are for whoever runs the service.
    """

    def __init__(self, report: Callable[[str], None]) -> None:
        self._report = report
        self._waiting: set[str] = set()
        self._intake: set[str] = set()
        self._absent: dict[str, tuple[tuple[str, ...], list[str]]] = {}  # by stream

    def tell_waiting(self, lines: Iterable[StreamInput]) -> None:
        """Say so when more rows of a stream wait than would confirm each other, if they were close enough; once."""
        for line in lines:
            name = line.relation.name
            if not line.count.waiting:
                self._waiting.discard(name)
            elif line.count.waiting > COMPANY and name not in self._waiting:
                self._waiting.add(name)
                self._report(
                    f"{line.count.waiting} rows of {line.relation.name} are far ahead of it and wait; "
                    "if they are right, MAX_AHEAD is too short for this stream"
                )

    def tell_intake(self, lines: Iterable[StreamInput]) -> None:
        """Say what is wrong with the rows of a stream, once each; counts in a sentence change, its first words do not."""
        for line in lines:
            if line.count.read < _ROWS_BEFORE_INTAKE_IS_TOLD:
                continue
            for sentence in intake_warnings(line.relation, line.count, line.latest_us):
                begins = sentence.partition("(")[0].partition(",")[0]
                if begins not in self._intake:
                    self._intake.add(begins)
                    self._report(sentence)

    def absent_from(self, lines: Iterable[StreamInput]) -> list[str]:
        """What a client should hear of columns that its rows lack, and all rows before them; worked out anew when these change."""
        said: list[str] = []
        for line in lines:
            name, absent = line.relation.name, tuple(line.count.absent or ())
            known = self._absent.get(name)
            if known is None or known[0] != absent:
                known = absent, [*absent_columns(line.relation, line.count)]
                self._absent[name] = known
            said += known[1]
        return said
