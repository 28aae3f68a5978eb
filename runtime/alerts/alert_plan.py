"""One alert, compiled: what it needs of an observation, and what it makes of one that it tells of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.alerts.alert_kernels import (
    HOLD,
    KEEP,
    NO_DATA,
    ONCE,
    SINCE_ARRIVAL,
    TELLS_PENDING,
)
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.windows.waiting_rows import places_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.alerts import Alert, Text
    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.deliver.outputs import OutputPlan
    from cqc.runtime.expressions.compile.compile_expression import Compiled
    from cqc.runtime.lineage.matches import Seat

_LONGEST = 2**61  # microseconds: beyond that nothing is ever due, and sums of times stay in range
TERMS = 6


@dataclass(slots=True, eq=False)
class AlertPlan:
    """An alert that runs; `number` is its own among those of its stream."""

    node: QueryNode
    alert: Alert
    seat: Seat
    number: int
    since: int  # how many observations had come before it
    outputs: OutputPlan
    results: int = 0
    name: str = field(init=False)
    keys: tuple[Expression, ...] = field(init=False)  # what PER says
    key_names: tuple[str, ...] = field(init=False)
    time_type: ColumnType = field(init=False)
    style: tuple[str | None, tuple[Text, ...], tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        # Asked for with every block of results.
        self.name = self.node.name
        self.keys = tuple(key.expression for key in self.alert.keys)
        self.key_names = tuple(key.name for key in self.alert.keys)
        self.style = self.alert.severity, self.alert.texts, self.key_names
        self.time_type = self.node.items[0].relation.time_type

    def terms(self) -> NDArray[np.int64]:
        """The row of the alert among the terms that kernels read."""
        row = np.zeros(TERMS, np.int64)
        alert = self.alert
        given = (HOLD, alert.hold_us), (KEEP, alert.keep_us), (ONCE, alert.once_us)
        for at, us in (*given, (NO_DATA, alert.no_data_us)):
            row[at] = 0 if us is None else min(us, _LONGEST)
        row[TELLS_PENDING] = alert.tells_pending
        row[SINCE_ARRIVAL] = self.since
        return row

    def columns_needed(self) -> dict[int, ColumnType]:
        """The columns of an observation that the alert looks at."""
        needed = places_in(
            [
                *(output.expression for output in self.node.outputs),
                *self.keys,
                self.alert.clear,
            ]
        )
        return {column: type_ for (_, column), type_ in needed.items()}


class Clears:
    """The conditions of CLEAR WHEN, each compiled once however many alerts have it."""

    def __init__(self) -> None:
        self._compiled: dict[Expression, Compiled] = {}
        self._owners: list[tuple[Expression, NDArray[np.bool_]]] | None = None

    def owners(self, plans: Mapping[int, AlertPlan]) -> list[tuple[Expression, NDArray[np.bool_]]]:
        """Each condition, and which alerts have it, by their numbers."""
        if self._owners is None:
            found: dict[Expression, NDArray[np.bool_]] = {}
            for number, plan in plans.items():
                if plan.alert.clear is not None:
                    none = np.zeros(max(plans) + 1, np.bool_)
                    found.setdefault(plan.alert.clear, none)[number] = True
            self._owners = list(found.items())
        return self._owners

    def forget_owners(self) -> None:
        """Alerts came or went."""
        self._owners = None

    def of(self, expression: Expression) -> Compiled:
        """The compiled condition."""
        if expression not in self._compiled:
            self._compiled[expression] = compile_expression(expression)
        return self._compiled[expression]

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        return sum(each.failures for each in self._compiled.values())
