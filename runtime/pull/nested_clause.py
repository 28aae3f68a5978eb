"""The clause of a pull query over views: asked like every other clause, answered by a `NestedQuery`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from cqc.runtime.pull.nested_absence import NestedAbsence
    from cqc.runtime.pull.nested_query import NestedQuery
    from cqc.runtime.pull.pull_plan import Answer, PullPlan


class NothingKept:
    """What a query over views keeps beside what its views keep: nothing, but it counts."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.rows_answered = 0
        self.users = 1
        self.nbytes = 0

    def measure_use(self, begin_us: int, end_us: int) -> None:
        """Nothing is decided by use."""

    def row_counts(
        self, begins_us: NDArray[np.int64], ends_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """As if each window had one row."""
        del ends_us
        return np.ones(len(begins_us), np.int64)


class NestedClause:
    """Answers windows of one query over views."""

    def __init__(self, nested: NestedQuery | NestedAbsence) -> None:
        self._nested = nested
        self.kept = NothingKept()
        self.users = 1

    @property
    def plan(self) -> PullPlan:
        return self._nested.plan

    @property
    def failures(self) -> int:
        return self._nested.plan.failures

    def answer_one(self, begin_us: int, end_us: int, at_us: int | None = None) -> Answer:
        """The answer over one window, both ends inside, when NOW is `at_us`."""
        return self._nested.answer(begin_us, end_us, end_us if at_us is None else at_us)

    def answer_many(
        self,
        begins_us: NDArray[np.int64],
        ends_us: NDArray[np.int64],
        at_us: NDArray[np.int64] | None = None,
    ) -> Iterator[tuple[int, Answer]]:
        """The answers over windows, one after the other; with each its number."""
        instants = ends_us if at_us is None else at_us
        windows = zip(begins_us.tolist(), ends_us.tolist(), instants.tolist(), strict=True)
        for number, (begin_us, end_us, now_us) in enumerate(windows):
            yield number, self._nested.answer(begin_us, end_us, now_us)

    def table(self, begin_us: int, end_us: int, at_us: int | None = None) -> pa.Table:
        """The same as users get it."""
        return self.plan.table(self.answer_one(begin_us, end_us, at_us).columns)
