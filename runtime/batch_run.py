"""A run whose micro-batches are lists of ranges: what runs on Spark, follows its input, or survives a crash.

What a micro-batch holds is decided by the planner, and who drives the batches (Spark, or a loop here) does not matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.intake import join_taken
from cqc.runtime.plan import Planner
from cqc.runtime.ranges import read_range
from cqc.runtime.run import LocalRun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler import Program
    from cqc.runtime.intake import Taken
    from cqc.runtime.options import RunOptions
    from cqc.runtime.ranges import Range


class BatchRun(LocalRun):
    """Pushes ranges into the engine, one micro-batch at a time.

    Raises:
        RunError: when data is missing or a place to write to cannot be opened.
    """

    def __init__(self, program: Program, options: RunOptions) -> None:
        super().__init__(program, options)
        self._latest_us: dict[str, int] = {}
        self._planner = Planner(
            {
                name: (self._catalog.relations[name], place)
                for name, place in self._places.items()
                if self._catalog.relations[name].is_stream
            },
            follow=options.follow,
            rows_per_batch=options.rows_per_batch,
        )

    def next_ranges(self) -> list[Range]:
        """What the next micro-batch reads; nothing at the end of the input."""
        return self._planner.next_batch(self._latest_us)

    def process(self, ranges: Sequence[Range]) -> None:
        """Read the ranges as one micro-batch and write its results."""
        parts: dict[str, list[Taken]] = {}
        for part in ranges:
            relation = self._catalog.relations[part.stream]
            parts.setdefault(part.stream, []).extend(read_range(relation, part))
        rows = {name: join_taken(taken) for name, taken in parts.items() if taken}
        for name, taken in rows.items():
            if len(taken):
                latest = int(taken.ts_us.max())
                self._latest_us[name] = max(self._latest_us.get(name, latest), latest)
        self.engine.push_taken(rows)
        self._write()
