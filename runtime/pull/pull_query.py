"""One pull query that runs, and what somebody gets who asks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from cqc.compiler.diagnostics.record import record
from cqc.runtime.deliver.results import ResultBlock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.since_line import SinceLine
    from cqc.runtime.intake.stream_input import StreamInput
    from cqc.runtime.pull.nested_clause import NestedClause
    from cqc.runtime.pull.pull_clause import PullClause
    from cqc.runtime.pull.pull_plan import Answer
    from cqc.runtime.pull.pull_window import Edge

    AnyLine: TypeAlias = StreamInput | SinceLine
    AnyClause: TypeAlias = PullClause | NestedClause


@dataclass(slots=True, eq=False)
class PullQuery:
    """A query with BEGIN-END: its window around an instant, and the clause that answers windows."""

    name: str
    first: Edge
    last: Edge
    every_us: int | None
    clause: AnyClause
    lines: dict[str, AnyLine]  # of its streams, by folded name
    time_type: ColumnType
    kept_from_us: int | None = None  # of a periodic query that came late: nothing older was left
    results: int = 0
    seconds: float = 0.0  # spent on its answers by EVERY
    warned: bool = False

    @property
    def latest_us(self) -> int | None:
        """The latest event time seen on its streams."""
        seen = [line.latest_us for line in self.lines.values() if line.latest_us is not None]
        return max(seen, default=None)

    @property
    def first_us(self) -> int | None:
        """The first event time seen on its streams."""
        seen = [line.first_us for line in self.lines.values() if line.first_us is not None]
        return min(seen, default=None)

    def block(
        self, answer: Answer, rows: NDArray[np.int64] | None, times_us: NDArray[np.int64]
    ) -> ResultBlock:
        """Some rows of an answer (None: all) as results, each with the instant that it is for."""
        return ResultBlock(
            query=self.name,
            names=self.clause.plan.names,
            columns=answer.columns,
            picks=rows,
            times_us=times_us,
            time_type=self.time_type,
            is_at=True,
        )


Asked = tuple[PullQuery, "NDArray[np.int64]"]  # a periodic query, and instants


@record
class Invocation:
    """One invocation: its rows, the instant they are for (None: nothing was seen yet), and warnings about them."""

    block: ResultBlock
    at_us: int | None
    warnings: tuple[str, ...]
