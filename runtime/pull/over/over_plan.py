"""All OVER of a query: rows are sorted once for each PARTITION BY and ORDER BY, whatever the frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.bound import Literal, OverFunction
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.pull.aggregate.aggregates import count_column
from cqc.runtime.pull.over.ordering import SortKey
from cqc.runtime.pull.over.over_values import (
    frame_aggregate,
    framed_value,
    neighbour_values,
    rank_values,
)
from cqc.runtime.pull.over.partitions import arrange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression, Over
    from cqc.runtime.expressions.compile.compile_expression import Compiled
    from cqc.runtime.pull.over.partitions import Partitions

    Fetch = Callable[[int, int], Column]


class CompiledOver:
    """One OVER: its arguments compiled."""

    def __init__(self, over: Over, compile_: Callable[[Expression], Compiled]) -> None:
        self.over = over
        self.failed = 0
        aggregate = over.aggregate
        self._inputs = [compile_(each) for each in (aggregate.inputs if aggregate else ())]
        values = over.arguments if over.function is not OverFunction.NTILE else ()
        self._value = compile_(values[0]) if values else None
        self._default = compile_(values[2]) if len(values) > 2 else None
        numbers = over.arguments if over.function is OverFunction.NTILE else over.arguments[1:2]
        self.number = 1
        for each in numbers:
            assert isinstance(each, Literal)
            assert isinstance(each.value, int)
            self.number = each.value

    def argument(self, fetch: Fetch, length: int, rows: NDArray[np.int64]) -> Column | None:
        """The value that a function, or an aggregate of one value, is about, in the order of the rows."""
        if self.over.aggregate is not None:
            return next(iter(self.inputs(fetch, length, rows)), None)
        return None if self._value is None else take(self._value.run(fetch, length), rows)

    def inputs(self, fetch: Fetch, length: int, rows: NDArray[np.int64]) -> list[Column]:
        """What an aggregate is made of, in the order of the rows."""
        return [take(each.run(fetch, length), rows) for each in self._inputs]

    def at_places(self, partitions: Partitions, fetch: Fetch) -> Column:
        """Its value at each place."""
        over, length = self.over, len(partitions)
        if over.aggregate is not None:
            assert over.frame is not None
            inputs = self.inputs(fetch, length, partitions.rows)
            found, failed = frame_aggregate(over.aggregate, inputs, *partitions.ends(over.frame))
            self.failed += failed
            return found
        column = self.argument(fetch, length, partitions.rows)
        assert over.function is not None
        if over.frame is not None:
            assert column is not None
            return framed_value(over.function, column, self.number, *partitions.ends(over.frame))
        if over.function in (OverFunction.LAG, OverFunction.LEAD):
            assert column is not None
            offset = self.number if over.function is OverFunction.LAG else -self.number
            default = self._default
            other = None if default is None else take(default.run(fetch, length), partitions.rows)
            return neighbour_values(column, other, offset, partitions)
        return rank_values(over.function, partitions, self.number)


class Sorting:
    """The OVERs of one PARTITION BY and ORDER BY, by their numbers in the query."""

    def __init__(self, over: Over, compile_: Callable[[Expression], Compiled]) -> None:
        self.partition = over.partition
        self.order = over.order
        self.by_time = over.by_time
        self._keys = [compile_(each) for each in over.partition]
        self._orders = [compile_(each.expression) for each in over.order]
        self.members: list[tuple[int, CompiledOver]] = []

    def keys(self, fetch: Fetch, length: int) -> list[Column]:
        """What is partitioned by."""
        return [key.run(fetch, length) for key in self._keys]

    def arranged(
        self,
        window: NDArray[np.int64] | None,
        fetch: Fetch,
        length: int,
        idle_us: int | None = None,
    ) -> Partitions:
        """The rows in order; rows of different windows are in different partitions."""
        keys = self.keys(fetch, length)
        if window is not None:
            keys.insert(0, count_column(window))
        orders = [
            SortKey(compiled.run(fetch, length), order.descending, order.nulls_first)
            for compiled, order in zip(self._orders, self.order, strict=True)
        ]
        return arrange(keys, orders, length, by_time=self.by_time, idle_us=idle_us)


class OverPlan:
    """All OVERs of a query, compiled."""

    def __init__(self, overs: Sequence[Over], compile_: Callable[[Expression], Compiled]) -> None:
        self.overs = tuple(overs)
        self.sortings: list[Sorting] = []
        by_key: dict[object, Sorting] = {}
        for number, over in enumerate(overs):
            key = over.partition, over.order, over.by_time
            if key not in by_key:
                by_key[key] = Sorting(over, compile_)
                self.sortings.append(by_key[key])
            by_key[key].members.append((number, CompiledOver(over, compile_)))

    @property
    def failures(self) -> int:
        """Totals that did not fit."""
        return sum(member.failed for sorting in self.sortings for _, member in sorting.members)

    def columns(self, window: NDArray[np.int64], fetch: Fetch) -> list[Column]:
        """The value of each OVER for each row; rows of different windows do not see one another."""
        found: dict[int, Column] = {}
        for sorting in self.sortings:
            partitions = sorting.arranged(window, fetch, len(window))
            back = np.empty(len(window), np.int64)
            back[partitions.rows] = np.arange(len(window))
            for number, member in sorting.members:
                found[number] = take(member.at_places(partitions, fetch), back)
        return [found[number] for number in range(len(self.overs))]
