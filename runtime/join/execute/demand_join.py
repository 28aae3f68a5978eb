"""The flat join on demand: a partial combination goes on only when everything it must still meet is there.

This is JIT's demand taken to its end, where not even the first useless result is made. Two tuples that are joined and must meet a third one by a value of each are a pair that few third tuples fit. Before the pair
goes on, the states of all such third items are asked for the composite value. Nothing waits and nothing is kept between
packets: if the third tuple comes later, its own way through the join finds the two.

    A.x = B.x, A.y = C.y, B.z = C.z: the pair (a, b) goes on when some C has (a.y, b.z)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler import compile as compile_program
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.physical.tree_shape import order_by_shape
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision
from cqc.runtime.adapt.pause import Pause
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.execute.flat_join import FlatJoin
from cqc.runtime.join.execute.join_node import JoinNode, push_packet
from cqc.runtime.join.membership.membership import JoinMembership
from cqc.runtime.join.step.key_forms import key_forms
from cqc.runtime.join.step.presence import Presences, as_arrays, keep_awaited, make_awaited
from cqc.runtime.join.step.probe_kernels import GAVE_UP, MOST_STEPS, NO_LIMIT
from cqc.runtime.lineage.rank_lineage import BEFORE_ALL_US, FAR_US
from cqc.runtime.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.graph.nodes import JoinHost
    from cqc.compiler.meaning.normal import EquiJoin
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.executor import NodeContext
    from cqc.runtime.join.execute.metaqueues import MetaQueues
    from cqc.runtime.join.plan.join_plan import JoinPlan
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.fused_probe import FusedProbe
    from cqc.runtime.join.step.probe_step import JoinInput, ProbeStep, Rows
    from cqc.runtime.metrics.operators import JoinMetrics


class Demands:
    """What a pair that a start makes first must still find: composite values of third items."""

    def __init__(self, asked: Sequence[Demand], table: Presences) -> None:
        self.list = list(asked)
        self.asked = 0
        self._looked = 0  # pairs that were asked about at the last look
        self._pause = Pause(settings.DEMAND.stretch, settings.DEMAND.longest)
        self.dropped = np.zeros(len(asked), np.int64)  # by each
        self.table = table
        starts, places, forms = as_arrays([each.columns for each in asked])
        self.arrays = (  # what is Asked, for kernels
            np.array([each.presence for each in asked], np.int64), starts, places, forms,
            np.array([each.reach_us for each in asked], np.int64),
        )  # fmt: skip

    def is_due(self) -> bool:
        """Whether enough was asked since the last time to see what it is worth."""
        if self.asked - self._looked < self._pause.length:
            return False
        self._looked = self.asked
        self._pause.longer()
        return True

    @property
    def worthy(self) -> list[Demand]:
        """The demands that are worth asking: they drop enough of what reaches them."""
        reached, kept = self.asked, []
        for each, dropped in zip(self.list, self.dropped, strict=True):
            is_worth_it = dropped >= settings.DEMAND_LEAST_SHARE * reached
            if is_worth_it or reached < settings.DEMAND.stretch // 8:
                kept.append(each)  # or hardly anything reached it: then it costs nothing
            reached -= int(dropped)
        return kept


@record
class Demand:
    """The number of a presence, where its values come from (place in the pair, key form), how old a partner may be."""

    presence: int
    columns: tuple[tuple[int, int], ...]
    reach_us: int


class DemandSteps:
    """The steps of a flat join with demands on pairs."""

    may_be_shared = False
    goes_through = True

    def __init__(self, host: JoinHost, shape: Shape, *, measured: bool = False) -> None:
        """`shape`: a tuple first meets what is beside it there. `measured`: stop asking where few pairs are dropped."""
        items = range(len(host.relations))
        self.orders = {item: order_by_shape(shape, item, host.equi_joins) for item in items}
        self._measured = measured
        self._dead_us = np.full(len(host.relations), BEFORE_ALL_US, np.int64)
        self._presences = Presences()
        self._demands: dict[int, Demands] = {}  # by starting item
        self._inputs: Sequence[JoinInput] = ()
        self._equi_joins: Sequence[EquiJoin] = ()
        self.partial_results = 0
        self.dropped = 0

    @property
    def is_asking(self) -> bool:
        """Whether some pairs are still asked about: none are once that was found to drop too few."""
        return bool(self._demands)

    def prepare(self, context: NodeContext) -> None:
        """Work out what each start asks for, and note the tuples that are there."""
        self._inputs = context.members.inputs
        self._equi_joins = context.members.parts[0].equi_joins
        self._presences = Presences()
        self._demands = {}
        for start in context.plan.starts:
            asked = self._demands_of(context.plan, start)
            if asked:
                self._demands[start] = Demands(asked, self._presences)
        for item in self._presences.items:
            state = self._inputs[item].state
            self.stored(item, state.first, state.head)

    def stored(self, item: int, first: int, stop: int) -> None:
        """Note the values of new tuples."""
        each = self._inputs[item]
        state = each.state
        self._presences.note(
            item, state.chains.links, state.ts, each.lineage.values,
            first - state.base, stop - state.base, self._dead_us,
        )  # fmt: skip

    def started(self, item: int) -> None:
        """Nothing waits."""

    def purged(self, items: Sequence[int], before_us: int) -> None:
        """What presences know goes in step with the tuples."""
        self._dead_us[items] = before_us

    def measured(self, found: JoinMetrics) -> JoinMetrics:
        """With what was made and what was not."""
        return replace(
            found,
            bytes=found.bytes + self._presences.nbytes,
            decisions=(*found.decisions, *self._decisions(found.name)),
            partial_results=self.partial_results,
            not_made=self.dropped,
        )

    def _decisions(self, about: str) -> list[Decision]:
        """Which starts ask before pairs are made, where that is measured."""
        found = []
        for each in self._inputs if self._measured else ():
            asks, name = self._demands.get(each.item), each.state.relation.name
            if asks is None:
                does = f"makes pairs of {name} without asking who awaits them"
                found.append(Decision(about, does))
            elif asks.asked:
                dropped = int(asks.dropped.sum()) / asks.asked
                does = f"asks who awaits pairs of {name} before it makes them"
                note = f"{dropped:.2g} of {asks.asked:,} pairs were never made"
                found.append(Decision(about, does, note=note))
        return found

    def _demands_of(self, plan: JoinPlan, start: int) -> list[Demand]:
        """For the pair that a start makes first: the other items that meet both of its items."""
        if start not in self.orders:
            return []
        partner, *others = self.orders[start]
        pair = (start, partner)
        found = []
        for item in others:
            columns = self._columns_between(pair, item)
            forms = tuple(form for _, _, form in columns)
            if len({place for place, _, _ in columns}) < 2 or len(set(forms)) < 2:
                continue
            is_stream = self._inputs[item].state.relation.is_stream
            reach = plan.reach_us(item).get(start, FAR_US) if is_stream else FAR_US
            sources = tuple((place, form) for place, form, _ in columns)
            found.append(Demand(self._presences.number(item, forms), sources, reach))
            if len(found) == settings.DEMAND_MOST:
                break
        return found

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
                states = self._inputs[left[0]].state, self._inputs[right[0]].state
                forms = key_forms((states[0], left[1]), (states[1], right[1]))
                found.append((pair.index(left[0]), *forms))
        return sorted(found, key=lambda each: each[2])

    def extend(self, branch: Branch, rows: Rows, packet_first: int) -> Rows:
        """Make the pairs of the first level that are awaited; further levels as in the plain join."""
        bound = branch.level.bound_items
        demands = self._demands.get(bound[0]) if len(bound) == 1 else None
        if demands is None:
            made = branch.level.extend(rows, packet_first)
        else:
            made = self._awaited(demands, branch.level, rows, packet_first)
            if self._measured and demands.is_due():
                self._judge(bound[0], demands)
        if branch.children:
            self.partial_results += max(made.count, 0)
        return made

    def go_through(
        self, through: FusedProbe, start: Rows, packet_first: int, queues: MetaQueues
    ) -> tuple[Rows, int] | None:
        """The same for a way without forks: behind the pairs, all levels at once."""
        first = through.levels[0]
        item = first.bound[0].item
        demands = self._demands.get(item)
        begin, rows = 0, start
        if demands is not None:
            begin = 1
            rows = self._awaited(demands, first, start, packet_first)
            if rows.count == GAVE_UP:
                return None
            through.note_train(0, queues, start.count, rows.count)
            if self._measured and demands.is_due():
                self._judge(item, demands)
            if not rows.count:
                return rows, begin
            if len(through.levels) > 1:
                self.partial_results += rows.count
        end = through.open_to(begin)
        if begin < end:
            rows, end = through.run(rows, begin, end, packet_first)
            if not end:
                return None
            self.partial_results += through.note_work(begin, end, queues)
        elif not begin:
            return None
        return rows, end

    def _awaited(self, demands: Demands, level: ProbeStep, rows: Rows, packet_first: int) -> Rows:
        table, asked_for, dropped = demands.table.table, demands.arrays, demands.dropped
        target, starters = level.chain_target(level.limit(packet_first)), level.starters
        if level.is_pair:
            made, asked = level.rows, 0
            while True:
                found, asked, candidates = make_awaited(
                    rows.count, rows.block, starters, target, level.least_us, level.windows,
                    asked_for, table, dropped, made.block, level.width,
                    MOST_STEPS if rows.count > 2 else NO_LIMIT,
                )  # fmt: skip
                if found <= made.room:
                    break
                made.resize(max(found, 2 * made.room))
            made.count = found
            if found == GAVE_UP:
                return made
            level.note_work(rows.count, candidates, asked)
        else:
            made = level.extend(rows, packet_first)
            if made.count == GAVE_UP:
                return made
            asked = made.count
            made.count = keep_awaited(
                asked, made.block, starters, target, asked_for, table, dropped
            )
        demands.asked += asked
        self.dropped += asked - made.count
        return made

    def _judge(self, start: int, demands: Demands) -> None:
        """Stop asking where few pairs are dropped, and then let the join choose its order by itself."""
        worthy = demands.worthy
        if len(worthy) == len(demands.list):
            return
        if worthy:
            self._demands[start] = Demands(worthy, self._presences)
        else:
            del self._demands[start], self.orders[start]
        used = {each.presence for among in self._demands.values() for each in among.list}
        self._presences.keep(used)


def warm() -> None:
    """Compile the kernels, by joining a few tuples of a triangle."""
    program = compile_program(_WARM)
    (body,) = program.graph.bodies.values()
    assert body.host is not None
    states = {name: SharedState(each) for name, each in program.catalog.relations.items()}
    steps = DemandSteps(body.host, ((0, 1), 2))
    join = JoinNode(JoinMembership(body.host, states), FlatJoin(steps))
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
