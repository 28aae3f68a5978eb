"""No output: results are counted and forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.deliver.results import ResultBlock


class NoneSink:
    """Counts results."""

    def __init__(self) -> None:
        self.count = 0

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        self.count += sum(len(block) for block in blocks)

    def close(self) -> None:
        return
