"""What a pull query does with the rows of its windows: groups, HAVING, outputs, DISTINCT, ORDER BY, LIMIT.

Everything works on the rows of many windows at once, each row with the number of its window, because a periodic query is
often due for many instants. Expressions are compiled when the query is first asked.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.bound import (
    Aggregate,
    And,
    ColumnRef,
    Comparison,
    ComparisonOp,
    Literal,
    OverFunction,
    children,
    overs_in,
)
from cqc.runtime.columns.columns import (
    Column,
    concatenate,
    null_column,
    select,
    take,
)
from cqc.runtime.columns.convert.arrow_out import arrow_type, to_arrow
from cqc.runtime.expressions.compile.compile_expression import REPLACED, compile_expression
from cqc.runtime.pull.aggregate.aggregates import (
    aggregate_rows,
    count_column,
    has_partials,
    has_tree,
)
from cqc.runtime.pull.aggregate.grouping import first_rows, number_rows
from cqc.runtime.pull.aggregate.partial_groups import (
    Groups,
    PartialGroups,
    PartialRows,
    merge_groups,
    merge_rows,
    rows_lane,
)
from cqc.runtime.pull.over.ordering import SortKey, distinct_rows, limited_rows, sorted_rows
from cqc.runtime.pull.over.over_plan import OverPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Decided, Expression, Output, Over, Pull
    from cqc.runtime.expressions.compile.compile_expression import Compiled

    Fetch = Callable[[int, int], Column]


_AS_THEY_ARE = (
    pa.int64(),
    pa.float64(),
)  # layouts that Arrow takes over without a look at the values


@record
class Answer:
    """Output rows by column, the window of each row beside it; windows ascend."""

    window: NDArray[np.int64]
    columns: tuple[Column, ...]


class PullPlan:
    """The compiled clauses of one or more pull queries."""

    def __init__(self, outputs: tuple[Output, ...], pull: Pull | Decided) -> None:
        self._expressions = tuple(output.expression for output in outputs)
        self.pull = pull
        self.group_by = pull.group_by
        self.is_aggregate = pull.is_aggregate
        self.names = tuple(output.name for output in outputs)
        roots = [*self._expressions, *(order.expression for order in pull.order_by)]
        self._overs = overs_in(*roots, pull.qualify)
        arranged = pull.distinct or pull.order_by or pull.limit is not None or pull.is_aggregate
        arranged = bool(arranged or self._overs)
        self._plain = None if arranged else _plain_columns(self._expressions)
        self.outputs_can_be_kept = not arranged
        self._failed = 0
        # The GROUP BY keys that the window of a row tells, by place: they need not be looked at to tell groups apart.
        self.told_by_window: frozenset[int] = frozenset()
        self._used: list[Compiled] = []

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        overs = self._over_plan.failures if self._overs else 0
        return self._failed + overs + sum(compiled.failures for compiled in self._used)

    @cached_property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """Each aggregate once, wherever it is used."""
        roots = list(self._expressions)
        roots += [order.expression for order in self.pull.order_by]
        roots += [each for each in (self.pull.having, self.pull.qualify) if each is not None]
        return tuple(dict.fromkeys(found for root in roots for found in _aggregates_in(root)))

    @cached_property
    def has_partials(self) -> bool:
        """Whether the answers of several engines can be put together from partial aggregates."""
        if self.pull.grouping_sets:
            return False
        return self.is_aggregate and all(has_partials(each) for each in self.aggregates)

    @cached_property
    def has_trees(self) -> bool:
        """Whether aggregate trees can answer all of it."""
        if self.pull.grouping_sets:
            return False
        return self.is_aggregate and all(has_tree(each) for each in self.aggregates)

    # Compiled parts

    @cached_property
    def _replaced(self) -> dict[Expression, int]:
        """In groups: the key values, then the aggregates, are already known."""
        known = (*self.pull.group_by, *self.aggregates) if self.is_aggregate else ()
        return {expression: at for at, expression in reversed(list(enumerate(known)))}

    @cached_property
    def _replaced_after(self) -> dict[Expression, int]:
        """After OVER its values are known too."""
        if not self._overs:
            return self._replaced
        first = self._known
        return {**self._replaced, **{over: first + at for at, over in enumerate(self._overs)}}

    @property
    def _known(self) -> int:
        """How many key values and aggregates groups have."""
        return len(self.pull.group_by) + len(self.aggregates) if self.is_aggregate else 0

    @cached_property
    def _over_plan(self) -> OverPlan:
        return OverPlan(self._overs, self._compile_group)

    @cached_property
    def _qualify(self) -> Compiled | None:
        return None if self.pull.qualify is None else self._compile(self.pull.qualify)

    def _compile(self, expression: Expression) -> Compiled:
        compiled = compile_expression(expression, self._replaced_after)
        self._used.append(compiled)
        return compiled

    def _compile_group(self, expression: Expression) -> Compiled:
        """What is worked out before OVER."""
        compiled = compile_expression(expression, self._replaced)
        self._used.append(compiled)
        return compiled

    def _compile_plain(self, expression: Expression) -> Compiled:
        compiled = compile_expression(expression)
        self._used.append(compiled)
        return compiled

    @cached_property
    def _outputs(self) -> tuple[Compiled, ...]:
        return tuple(self._compile(expression) for expression in self._expressions)

    @cached_property
    def _orders(self) -> tuple[Compiled, ...]:
        return tuple(self._compile(order.expression) for order in self.pull.order_by)

    @cached_property
    def _having(self) -> Compiled | None:
        return None if self.pull.having is None else self._compile_group(self.pull.having)

    @cached_property
    def _keys(self) -> tuple[Compiled, ...]:
        return tuple(self._compile_plain(expression) for expression in self.pull.group_by)

    @cached_property
    def _arguments(self) -> tuple[tuple[Compiled, ...], ...]:
        return tuple(
            tuple(self._compile_plain(part) for part in each.inputs) for each in self.aggregates
        )

    @cached_property
    def _schema(self) -> Any:
        types = [arrow_type(expression.type) for expression in self._expressions]
        return pa.schema(list(zip(self.names, types, strict=True)))

    def table(self, columns: Sequence[Column]) -> pa.Table:
        """Output columns as users get them."""
        arrays = [
            pa.array(column.values)
            if type_ in _AS_THEY_ARE and column.valid is None
            else to_arrow(column)
            for column, type_ in zip(columns, self._schema.types, strict=True)
        ]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    # Rows and groups

    def answer_rows(self, window: NDArray[np.int64], fetch: Fetch, windows: int) -> Answer:
        """The answer from the rows of all windows, with `fetch(item, column)` for their columns."""
        if self._plain is not None:
            return Answer(window, self.outputs(fetch, len(window)))
        if not self.is_aggregate:
            return self._finish(window, fetch)
        return self.answer_groups(self._group_rows(window, fetch), windows)

    def outputs(self, fetch: Fetch, length: int) -> tuple[Column, ...]:
        """The output columns of rows."""
        if self._plain is not None:
            return tuple(fetch(item, column) for item, column in self._plain)
        return tuple(output.run(fetch, length) for output in self._outputs)

    def answer_groups(self, groups: Groups, windows: int) -> Answer:
        """The answer from the groups of all windows."""
        if not self.pull.group_by:
            groups = self._with_empty_windows(groups, windows)
        return self.finish_groups(groups, self.kept_groups(groups))

    def kept_groups(self, groups: Groups) -> NDArray[np.bool_] | None:
        """Which groups HAVING leaves; None: all."""
        if self._having is None:
            return None
        return self._having.is_true(self.fetch_groups(groups), len(groups.window))

    def finish_groups(self, groups: Groups, kept: NDArray[np.bool_] | None = None) -> Answer:
        """The answer from the groups that HAVING has left."""
        known = (*groups.keys, *groups.aggregates)
        if kept is not None:
            known = tuple(select(column, kept) for column in known)
            return self._finish(groups.window[kept], _columns(known))
        return self._finish(groups.window, _columns(known))

    def finish_rows(self, window: NDArray[np.int64], fetch: Fetch) -> Answer:
        """The answer from rows that are not grouped."""
        return self._finish(window, fetch)

    @staticmethod
    def fetch_groups(groups: Groups) -> Fetch:
        """The keys and aggregates of groups, as what comes after them finds them."""
        return _columns((*groups.keys, *groups.aggregates))

    @cached_property
    def first_of_order(self) -> tuple[int, int] | None:
        """What QUALIFY takes, if that is the first rows of each partition: how they are counted, and how many.

        `RANK() OVER (...) <= 3`: 1 and 3. Rows after these change nothing of what is said of these, so they can be left out before.
        """
        overs, qualify = self._overs, self.pull.qualify
        if len(overs) != 1 or qualify is None or overs[0].function not in _COUNTED:
            return None
        parts = qualify.operands if isinstance(qualify, And) else (qualify,)
        found = [most for part in parts if (most := _most(part, overs[0])) is not None]
        return (_COUNTED.index(overs[0].function), min(found)) if found else None

    @cached_property
    def firsts_are_all(self) -> bool:
        """Whether QUALIFY takes all of these first rows, and nothing else looks at how they are counted."""
        qualify = self.pull.qualify
        if self.first_of_order is None or not isinstance(qualify, Comparison):
            return False
        if qualify.op is ComparisonOp.EQ and self.first_of_order[1] != 1:
            return False
        roots = [*self._expressions, *(order.expression for order in self.pull.order_by)]
        return not overs_in(*roots, None)

    @property
    def outputs_are_columns(self) -> bool:
        """Whether all outputs are columns of the rows, one row each: they can be taken when they are needed."""
        return self._plain is not None

    def output_column(self, at: int, fetch: Fetch) -> Column:
        """One of these outputs."""
        assert self._plain is not None
        return fetch(*self._plain[at])

    def finish_firsts(self, window: NDArray[np.int64], fetch: Fetch) -> Answer:
        """The answer from the first rows, where `firsts_are_all`."""
        return self._finish_rows(window, fetch)

    def _group_rows(self, window: NDArray[np.int64], fetch: Fetch) -> Groups:
        length = len(window)
        keys = [key.run(fetch, length) for key in self._keys]
        inputs = [[part.run(fetch, length) for part in parts] for parts in self._arguments]
        sets = self.pull.grouping_sets
        if not sets:
            return self._groups_by(window, keys, inputs)
        made = [
            self._groups_by(
                window,
                [
                    key if at in kept else null_column(key.type, length)
                    for at, key in enumerate(keys)
                ],
                inputs,
            )
            for kept in sets
        ]
        return _one_after_the_other(made)

    def _groups_by(
        self, window: NDArray[np.int64], keys: list[Column], inputs: list[list[Column]]
    ) -> Groups:
        numbers, count = number_rows([_window_column(window), *keys], len(window))
        firsts = first_rows(numbers, count)
        columns = []
        for aggregate, values in zip(self.aggregates, inputs, strict=True):
            column, failed = aggregate_rows(aggregate, values, numbers, count)
            self._failed += failed
            columns.append(column)
        return Groups(window[firsts], tuple(take(key, firsts) for key in keys), tuple(columns))

    # Parts of an answer, from several engines

    def partial_rows(
        self, window: NDArray[np.int64], oldest_us: NDArray[np.int64], fetch: Fetch
    ) -> PartialRows:
        """The rows of all windows before DISTINCT, ORDER BY and LIMIT."""
        length = len(window)
        orders = tuple(compiled.run(fetch, length) for compiled in self._orders)
        return PartialRows(window, oldest_us, self.outputs(fetch, length), orders)

    def partial_groups(
        self, window: NDArray[np.int64], fetch: Fetch, beside: Column | None = None
    ) -> PartialGroups:
        """The groups of all windows as partial aggregates; `beside` is one key more than GROUP BY has, the last."""
        length = len(window)
        keys = [key.run(fetch, length) for key in self._keys]
        if beside is not None:
            keys.append(beside)
        telling = [key for at, key in enumerate(keys) if at not in self.told_by_window]
        numbers, count = number_rows([_window_column(window), *telling], length)
        firsts = first_rows(numbers, count)
        lanes = tuple(
            rows_lane(parts[0].run(fetch, length) if parts else None, numbers, count)
            for parts in self._arguments
        )
        return PartialGroups(window[firsts], tuple(take(key, firsts) for key in keys), lanes)

    def put_together(self, parts: Sequence[PartialRows | PartialGroups], windows: int) -> Answer:
        """The answer from its parts."""
        groups = [part for part in parts if isinstance(part, PartialGroups)]
        if groups:
            return self.answer_groups(self.merged(groups), windows)
        rows = merge_rows([part for part in parts if isinstance(part, PartialRows)])
        return self._arrange(rows.window, rows.columns, rows.orders)

    def merged(self, parts: Sequence[PartialGroups]) -> Groups:
        """The groups of all parts, each once, with their aggregates."""
        merged, failed = merge_groups(parts, self.aggregates, self.told_by_window)
        self._failed += failed
        return merged

    def _with_empty_windows(self, groups: Groups, windows: int) -> Groups:
        """Without GROUP BY every window has its row: COUNT 0 and NULLs where there is nothing."""
        if len(groups.window) == windows:
            return groups
        present = np.zeros(windows, np.bool_)
        present[groups.window] = True
        place = np.where(present, np.cumsum(present) - 1, -1)
        columns = tuple(
            _spread(column, place, aggregate)
            for aggregate, column in zip(self.aggregates, groups.aggregates, strict=True)
        )
        return Groups(np.arange(windows), (), columns)

    def _finish(self, window: NDArray[np.int64], fetch: Fetch) -> Answer:
        if self._overs:
            values = self._over_plan.columns(window, fetch)
            return self.finish_over(window, fetch, values)
        return self._finish_rows(window, fetch)

    @property
    def over_plan(self) -> OverPlan:
        """All OVERs, for whoever works them out over more rows than those of an answer."""
        return self._over_plan

    def finish_over(
        self, window: NDArray[np.int64], fetch: Fetch, values: Sequence[Column]
    ) -> Answer:
        """The answer from rows and what OVER says of each."""
        after = _with_overs(fetch, self._known, values)
        if self._qualify is None:
            return self._finish_rows(window, after)
        rows = np.flatnonzero(self._qualify.is_true(after, len(window)))
        if len(rows) == len(window):
            return self._finish_rows(window, after)
        return self._finish_rows(window[rows], _taken(after, rows))

    def reached(self, fetch: Fetch, length: int, value: Column) -> tuple[Column, ...]:
        """The outputs of rows that QUALIFY leaves, where there is one OVER, whose value is known."""
        return self.outputs(_with_overs(fetch, self._known, [value]), length)

    def _finish_rows(self, window: NDArray[np.int64], fetch: Fetch) -> Answer:
        length = len(window)
        orders = [compiled.run(fetch, length) for compiled in self._orders]
        return self._arrange(window, self.outputs(fetch, length), orders)

    def _arrange(
        self, window: NDArray[np.int64], columns: tuple[Column, ...], orders: Sequence[Column]
    ) -> Answer:
        """DISTINCT, ORDER BY and LIMIT, given the values of the ORDER BY expressions."""
        keys = [
            SortKey(column, order.descending, order.nulls_first)
            for column, order in zip(orders, self.pull.order_by, strict=True)
        ]
        if self.pull.distinct:
            rows = distinct_rows(window, columns)
            window, columns = window[rows], tuple(take(column, rows) for column in columns)
            keys = [
                SortKey(take(key.column, rows), key.descending, key.nulls_first) for key in keys
            ]
        if not keys and self.pull.limit is None:
            return Answer(window, columns)
        rows = sorted_rows(window, keys) if keys else np.arange(len(window))
        if self.pull.limit is not None:
            rows = rows[limited_rows(window[rows], self.pull.limit)]
        return Answer(window[rows], tuple(take(column, rows) for column in columns))


def _plain_columns(expressions: Sequence[Expression]) -> tuple[tuple[int, int], ...] | None:
    """Item and column of each output, when all are columns."""
    columns = [each for each in expressions if isinstance(each, ColumnRef)]
    if len(columns) < len(expressions):
        return None
    return tuple((column.item, column.column) for column in columns)


def _aggregates_in(expression: Expression) -> Iterator[Aggregate]:
    if isinstance(expression, Aggregate):
        yield expression
        return
    for part in children(expression):
        yield from _aggregates_in(part)


_COUNTED = (OverFunction.ROW_NUMBER, OverFunction.RANK, OverFunction.DENSE_RANK)


def _most(condition: Expression, over: Over) -> int | None:
    """The number that a condition says a value is at most."""
    if not isinstance(condition, Comparison):
        return None
    left, op, right = condition.left, condition.op, condition.right
    if isinstance(left, Literal):
        left, op, right = right, op.flipped, left
    if left != over or not isinstance(right, Literal) or type(right.value) is not int:
        return None
    if op in (ComparisonOp.LE, ComparisonOp.EQ):
        return right.value
    return right.value - 1 if op is ComparisonOp.LT else None


def _one_after_the_other(parts: Sequence[Groups]) -> Groups:
    """The groups of several grouping sets, window by window."""
    window = np.concatenate([part.window for part in parts])
    order = np.argsort(window, kind="stable")
    keys = zip(*(part.keys for part in parts), strict=True)
    aggregates = zip(*(part.aggregates for part in parts), strict=True)
    return Groups(
        window[order],
        tuple(take(concatenate(each), order) for each in keys),
        tuple(take(concatenate(each), order) for each in aggregates),
    )


def _window_column(window: NDArray[np.int64]) -> Column:
    return count_column(window)


def _with_overs(fetch: Fetch, known: int, values: Sequence[Column]) -> Fetch:
    """The same rows, with what OVER says of them after what was known."""

    def column(item: int, at: int) -> Column:
        return values[at - known] if item == REPLACED and at >= known else fetch(item, at)

    return column


def _taken(fetch: Fetch, rows: NDArray[np.int64]) -> Fetch:
    """Some of the rows; each column is taken once."""
    taken: dict[tuple[int, int], Column] = {}

    def column(item: int, at: int) -> Column:
        found = taken.get((item, at))
        if found is None:
            found = taken[item, at] = take(fetch(item, at), rows)
        return found

    return column


def _columns(known: Sequence[Column]) -> Fetch:
    def fetch(item: int, column: int) -> Column:
        assert item == REPLACED  # the binder lets nothing else stand beside groups
        return known[column]

    return fetch


def _spread(column: Column, place: NDArray[np.int64], aggregate: Aggregate) -> Column:
    """The values at the places; where there is none (-1), the aggregate of no rows: 0 for a count, mostly NULL else."""
    no_rows = [null_column(each.type, 0) for each in aggregate.inputs]
    nothing, _ = aggregate_rows(aggregate, no_rows, np.zeros(0, np.int64), 1)
    both = concatenate([column, nothing]) if len(column) else nothing
    return take(both, np.where(place < 0, len(column), place))
