"""The flat join on demand: a partial combination goes on only when everything it must still meet is there.

This is JIT's demand taken to its end, where not even the first useless result is made. Two tuples that are joined and must meet a third one by a value of each are a pair that few third tuples fit. Before the pair
goes on, the states of all such third items are asked for the composite value. Nothing waits and nothing is kept between
packets: if the third tuple comes later, its own way through the join finds the two.

    A.x = B.x, A.y = C.y, B.z = C.z: the pair (a, b) goes on when some C has (a.y, b.z)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.types import ColumnType
from cqc.runtime.columns import Column
from cqc.runtime.found import OperatorCount
from cqc.runtime.operators.hash_chains import KeyKind
from cqc.runtime.operators.multi_join import MultiJoin, push_packet
from cqc.runtime.operators.presence import Presence, keep_awaited
from cqc.runtime.operators.rank_lineage import BEFORE_ALL_US, FAR_US
from cqc.runtime.operators.shared_state import SharedState
from cqc.runtime.operators.tree_shape import order_by_shape
from cqc.runtime.packet import Packet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.runtime.operators.join_level import JoinInput, Rows
    from cqc.runtime.operators.join_plan import JoinPlan
    from cqc.runtime.operators.join_routes import Branch
    from cqc.runtime.operators.tree_shape import Shape

_TRIAL_PAIRS = 2_000  # how many pairs show whether asking is worth it
_LEAST_SHARE = 0.2


@dataclass(slots=True)
class Demand:
    """What a pair of items must find in a third: its composite value, from which place and key form each part comes."""

    presence: Presence
    places: NDArray[np.int64]
    forms: NDArray[np.int64]
    reach_us: int
    asked: int = 0
    dropped: int = 0

    @property
    def pays(self) -> bool:
        return self.asked < _TRIAL_PAIRS or self.dropped >= _LEAST_SHARE * self.asked


class DemandJoin(MultiJoin):
    """The flat join with demands on pairs."""

    def __init__(
        self,
        host: JoinHost,
        states: Mapping[str, SharedState],
        shape: Shape,
        *,
        measured: bool = False,
    ) -> None:
        """`shape`: a tuple first meets what is beside it there. `measured`: stop asking where few pairs are dropped."""
        super().__init__(host, states)
        for item in range(len(host.relations)):
            self._orders[item] = order_by_shape(shape, item, host.equi_joins)
        self._measured = measured
        self._dead_us = np.full(len(host.relations), BEFORE_ALL_US, np.int64)
        self._presences: dict[tuple[int, tuple[int, ...]], Presence] = {}
        self._demands: dict[int, list[Demand]] = {}  # by starting item
        self.partial_results = 0
        self.dropped = 0

    @staticmethod
    def pays_for(host: JoinHost) -> bool:
        """Whether some item meets two others, which meet each other, by two columns: else there is nothing to ask."""
        near: dict[int, dict[int, int]] = {}  # by item and other item, the item's column
        for edge in host.equi_joins:
            near.setdefault(edge.left_item, {})[edge.right_item] = edge.left_column
            near.setdefault(edge.right_item, {})[edge.left_item] = edge.right_column
        return any(
            columns[one] != columns[two]
            for columns in near.values()
            for one in columns
            for two in near[one]
            if two in columns
        )

    def purge_before(self, relation: str, watermarks: Mapping[str, int]) -> int | None:
        """As for the flat join; what presences know goes in step."""
        before = super().purge_before(relation, watermarks)
        if before is not None:
            self._dead_us[self._items_of[relation]] = before
        return before

    def measure(self) -> OperatorCount:
        """What the join did so far."""
        base = super().measure()
        size = sum(each.nbytes for each in self._presences.values())
        detail = {
            **base.detail,
            "partial results": self.partial_results,
            "partial results not made": self.dropped,
        }
        return OperatorCount(
            base.name, base.tuples_in, base.tuples_out, base.seconds, base.bytes + size, detail
        )

    def _prepare(self) -> JoinPlan:
        plan = super()._prepare()
        self._presences = {}
        self._demands = {item: self._demands_of(plan, item) for item in plan.starts}
        for (item, _), presence in self._presences.items():
            each = self._inputs[item]
            self._note(presence, each, each.state.first, each.state.head)
        return plan

    def _store(self, each: JoinInput, lineage: NDArray[np.uint64], first: int) -> None:
        super()._store(each, lineage, first)
        for (item, _), presence in self._presences.items():
            if item == each.item:
                self._note(presence, each, first, first + len(lineage))

    def _note(self, presence: Presence, each: JoinInput, first: int, stop: int) -> None:
        state = each.state
        presence.note(
            state.chains.links, state.ts, each.lineage.values,
            first - state.base, stop - state.base, int(self._dead_us[each.item]),
        )  # fmt: skip

    def _demands_of(self, plan: JoinPlan, start: int) -> list[Demand]:
        """For the pair that a start makes first: the other items that meet both of its items."""
        if start not in self._orders:
            return []
        partner, *others = self._orders[start]
        pair = (start, partner)
        found = []
        for item in others:
            columns = self._columns_between(pair, item)
            forms = tuple(form for _, _, form in columns)
            if len({place for place, _, _ in columns}) < 2 or len(set(forms)) < 2:
                continue
            presence = self._presences.get((item, forms))
            if presence is None:
                presence = self._presences[item, forms] = Presence(np.array(forms, np.int64))
            found.append(
                Demand(
                    presence,
                    np.array([place for place, _, _ in columns], np.int64),
                    np.array([form for _, form, _ in columns], np.int64),
                    plan.reach_us(item).get(start, FAR_US) if self._is_stream(item) else FAR_US,
                )
            )
        return found

    def _is_stream(self, item: int) -> bool:
        return self._inputs[item].state.relation.is_stream

    def _columns_between(self, pair: tuple[int, int], item: int) -> list[tuple[int, int, int]]:
        """The equalities between a pair and an item: (place in the pair, key form there, key form of the item).

        In the order of the item's forms, so that pairs of the same columns share a presence.
        """
        found = []
        for edge in self._equi_joins:
            left, right = (edge.left_item, edge.left_column), (edge.right_item, edge.right_column)
            if left[0] == item:
                left, right = right, left
            if right[0] == item and left[0] in pair:
                forms = self._forms(left, right)
                found.append((pair.index(left[0]), *forms))
        return sorted(found, key=lambda each: each[2])

    def _forms(self, left: tuple[int, int], right: tuple[int, int]) -> tuple[int, int]:
        states = [self._inputs[item].state for item, _ in (left, right)]
        types = [
            state.relation.columns[column].type
            for state, (_, column) in zip(states, (left, right), strict=True)
        ]
        plain = [types[0] is types[1] or each is ColumnType.DOUBLE for each in types]
        kinds = [KeyKind.PLAIN if each else KeyKind.AS_DOUBLE for each in plain]
        return (
            states[0].key_form(left[1], kinds[0]),
            states[1].key_form(right[1], kinds[1]),
        )

    def _extended(self, branch: Branch, rows: Rows) -> None:
        """Ask for the pairs of the first level what they must still meet."""
        bound = branch.level.bound_items
        if len(bound) == 1 and self._demands[bound[0]]:
            self._ask(bound[0], branch.level.target.item, rows)
        if branch.children:
            self.partial_results += rows.count

    def _ask(self, start: int, partner: int, rows: Rows) -> None:
        """Keep the pairs that every item they must meet has a tuple for."""
        one, two = self._inputs[start].state, self._inputs[partner].state
        for demand in self._demands[start]:
            if not rows.count:
                break
            presence = demand.presence
            kept = keep_awaited(
                rows.count, rows.positions, rows.ts, rows.lineage,
                one.chains.links, one.base, two.chains.links, two.base, demand.places, demand.forms,
                presence.hashes, presence.newest, presence.shift, demand.reach_us,
            )  # fmt: skip
            demand.asked += rows.count
            demand.dropped += rows.count - kept
            self.dropped += rows.count - kept
            rows.count = kept
        if self._measured:
            self._judge(start)

    def _judge(self, start: int) -> None:
        """Stop asking where few pairs are dropped, and then let the join choose its order by itself."""
        worthy = [each for each in self._demands[start] if each.pays]
        if len(worthy) < len(self._demands[start]):
            self._demands[start] = worthy
            if not worthy:
                del self._orders[start]
            used = {id(each.presence) for demands in self._demands.values() for each in demands}
            self._presences = {
                key: presence for key, presence in self._presences.items() if id(presence) in used
            }


def warm() -> None:
    """Compile the kernels, by joining a few tuples of a triangle."""
    program = compile_program(_WARM)
    (body,) = program.graph.bodies.values()
    assert body.host is not None
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    join = DemandJoin(body.host, states, ((0, 1), 2))
    join.add(body)
    for _ in range(2):
        for state in states.values():
            numbers = np.zeros(2, np.int64)
            columns = (
                Column(ColumnType.BIGINT, numbers),
                Column(ColumnType.BIGINT, numbers),
                Column(ColumnType.BIGINT, np.arange(2)),
            )
            push_packet(state, [join], Packet(columns, numbers, numbers), keep_all=True)


_WARM = """
CREATE STREAM a (ts BIGINT, k BIGINT, l BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT, l BIGINT);
CREATE STREAM c (ts BIGINT, k BIGINT, l BIGINT);
SELECT a.k AS x FROM a, b, c WHERE a.k = b.k AND b.l = c.l AND a.k = c.k MAXWINDOW 5 SEC;
"""
