"""From what operators found to result rows of queries.

Several queries may share a body and differ in their SELECT lists, and many queries of different bodies share one SELECT
list. So each distinct list is evaluated once per packet, over the rows that any of its queries wants, and every query's
block only picks rows from it. Lists of plain columns are not evaluated at all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.outputs import OutputPlans
from cqc.runtime.results import ResultBlock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.types import ColumnType
    from cqc.runtime.columns import Column
    from cqc.runtime.found import Found, Seat
    from cqc.runtime.outputs import OutputPlan


@dataclass(slots=True, eq=False)
class Destination:
    """A push query as delivery sees it."""

    query: QueryNode
    plan: OutputPlan
    time_type: ColumnType


@dataclass(slots=True)
class Deliveries:
    """The push queries of a circuit, by the seat of the body that answers them."""

    plans: OutputPlans = field(default_factory=OutputPlans)
    # By seat and not by body: a pull query of the same body has a seat of its own, whose findings are not delivered.
    _by_seat: dict[Seat, list[Destination]] = field(default_factory=dict)

    def add(self, query: QueryNode, seat: Seat) -> None:
        """Deliver what is found for the query's body from now on."""
        plan = self.plans.use(query.outputs)
        times = next(relation for relation in query.body.relations if relation.is_stream)
        destination = Destination(query, plan, times.time_type)
        self._by_seat.setdefault(seat, []).append(destination)

    def remove(self, query: QueryNode, seat: Seat) -> None:
        """Deliver nothing more to the query."""
        destinations = self._by_seat[seat]
        destinations[:] = [each for each in destinations if each.query is not query]
        if not destinations:
            del self._by_seat[seat]
        self.plans.release(query.outputs)

    def deliver(self, found: Found) -> list[ResultBlock]:
        """The result blocks of one finding."""
        if not self._by_seat:
            return []
        wanted: dict[tuple[int, tuple[int, ...]], list[tuple[Destination, NDArray[np.int64]]]] = {}
        for seat in found.hits():
            destinations = self._by_seat.get(seat)
            if not destinations:
                continue
            rows = found.rows_of(seat)
            for destination in destinations:
                key = (id(destination.plan), destination.query.positions)
                wanted.setdefault(key, []).append((destination, rows))
        blocks: list[ResultBlock] = []
        for group in wanted.values():
            blocks += _blocks_of(found, group)
        return blocks


def _blocks_of(
    found: Found, group: list[tuple[Destination, NDArray[np.int64]]]
) -> Iterable[ResultBlock]:
    """The blocks of queries with one SELECT list, which is evaluated once for all of them."""
    first, _ = group[0]
    if first.plan.is_plain:
        rows = None
    else:
        rows = np.unique(np.concatenate([rows for _, rows in group]))
    columns = evaluate_outputs(found, first, rows)
    for destination, own in group:
        yield ResultBlock(
            query=destination.query.name,
            names=destination.plan.names,
            columns=columns,
            picks=own if rows is None else np.searchsorted(rows, own),
            times_us=found.ts_us[own],
            time_type=destination.time_type,
            is_at=False,
        )


def evaluate_outputs(
    found: Found, destination: Destination, rows: NDArray[np.int64] | None
) -> tuple[Column, ...]:
    """A SELECT list over rows of a finding; FROM positions are translated to the host's."""
    positions = destination.query.positions

    def fetch(item: int, column: int) -> Column:
        return found.column(positions[item], column, rows)

    return destination.plan.columns(fetch, len(found) if rows is None else len(rows))
