"""SELECT lists, compiled once per distinct list and evaluated once per packet however many queries share them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.bound import ColumnRef
from cqc.runtime.expressions.compile.compile_expression import compile_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.bound import Expression, Output
    from cqc.runtime.columns.columns import Column


class OutputPlan:
    """The outputs of one or more queries: names, and an evaluator for each expression."""

    def __init__(self, outputs: tuple[Output, ...]) -> None:
        self.names = tuple(output.name for output in outputs)
        plain = [
            (output.expression.item, output.expression.column)
            for output in outputs
            if isinstance(output.expression, ColumnRef)
        ]
        self.is_plain = len(plain) == len(outputs)
        self._plain = plain
        self._compiled = tuple(compile_expression(output.expression) for output in outputs)

    def columns(self, fetch: Callable[[int, int], Column], length: int) -> tuple[Column, ...]:
        """The output columns; `fetch(item, column)` gives the columns of a FROM item."""
        if self.is_plain:
            return tuple([fetch(item, column) for item, column in self._plain])
        return tuple(compiled.run(fetch, length) for compiled in self._compiled)

    @property
    def failures(self) -> int:
        """How many evaluations failed and gave NULL."""
        return sum(compiled.failures for compiled in self._compiled)


class OutputPlans:
    """Distinct SELECT lists with the number of queries that use each."""

    def __init__(self) -> None:
        self._plans: dict[tuple[tuple[str, Expression], ...], tuple[OutputPlan, int]] = {}
        self._failures_of_gone = 0

    def use(self, outputs: tuple[Output, ...]) -> OutputPlan:
        """The plan for a list, made when it is the first of its kind."""
        key = _key(outputs)
        plan, users = self._plans.get(key) or (OutputPlan(outputs), 0)
        self._plans[key] = (plan, users + 1)
        return plan

    def release(self, outputs: tuple[Output, ...]) -> None:
        """One query less uses the list."""
        key = _key(outputs)
        plan, users = self._plans[key]
        if users > 1:
            self._plans[key] = (plan, users - 1)
        else:
            self._failures_of_gone += plan.failures
            del self._plans[key]

    @property
    def failures(self) -> int:
        """Failed evaluations of all lists, those of queries that have left included."""
        return self._failures_of_gone + sum(plan.failures for plan, _ in self._plans.values())


def _key(outputs: tuple[Output, ...]) -> tuple[tuple[str, Expression], ...]:
    return tuple((output.name, output.expression) for output in outputs)
