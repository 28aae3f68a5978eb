"""What every operator does whose rows wait for the watermark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column
    from cqc.runtime.windows.waiting_rows import Rows


@record
class Decisions:
    """Rows that are decided, by column, with the time of each."""

    times_us: NDArray[np.int64]
    columns: tuple[Column, ...]

    def __len__(self) -> int:
        return len(self.times_us)


class Holder(Protocol):
    """Takes rows, and gives out what the watermark decides of them. Never blocks, and knows nothing of other holders."""

    def take(self, rows: Rows) -> None:
        """Rows of one packet, after WHERE, in the order of their arrival."""

    def decide(self, watermark_us: int) -> list[Decisions]:
        """What is decided now; each row is given once. ALL_SEEN decides everything."""

    def save(self) -> dict[str, Any]:
        """What another one needs to go on, as JSON."""

    def load(self, state: dict[str, Any]) -> None:
        """Go on where another one was."""

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""

    @property
    def nbytes(self) -> int:
        """What is held."""
