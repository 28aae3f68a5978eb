"""Who sits at a join node: hosts, their bodies, the slots that stand for them, and the lineage beside the tuples.

A node has an item for every relation of its hosts, as often as the host that has it most often, and one lane of lineage, one
filter and one set of counters an item, whatever the number of hosts. Hosts come with their first body and leave with
their last one; items that no host has any more are freed.

    B x H, B x T x H and T x H at one node: items B, H, T; a packet of H is filtered and stored once for all three
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.membership.host import HostAtNode
from cqc.runtime.join.membership.item_filter import ItemFilter
from cqc.runtime.join.membership.slots import JoinSeat, SlotTable
from cqc.runtime.join.step.probe_step import JoinInput, Work
from cqc.runtime.lineage.rank_lineage import WORD_BITS, bitmap, move_bits, word_count
from cqc.runtime.state.lanes import Lane

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from numpy.typing import NDArray

    from cqc.compiler.graph.nodes import Body, JoinHost
    from cqc.runtime.join.membership.slots import Slot
    from cqc.runtime.lineage.matches import Seat
    from cqc.runtime.state.shared_state import SharedState


_NARROWER = 4  # how many times as wide as it needs to be the lineage is when it is made narrower


class JoinMembership:
    """The hosts and bodies of one node."""

    def __init__(self, host: JoinHost, states: Mapping[str, SharedState]) -> None:
        """`states` by folded relation name. The node's items are in the order of its first host."""
        self._states = states
        self.words = 1  # of the lineage
        self.inputs: list[JoinInput] = []  # these three by item
        self.filters: list[ItemFilter] = []
        self.work: list[Work] = []
        self.items_of: dict[str, list[int]] = {}  # by folded relation name, one an occurrence
        self._free_items: list[int] = []
        self._heads_before: dict[str, int] = {}  # how many tuples each state had taken before
        self._parts: dict[int, HostAtNode] = {}  # by host number
        self.table = SlotTable()
        self.counts = np.zeros(WORD_BITS, np.int64)  # room for kernels that count by slot
        self._failures_of_gone = 0
        self.take(host)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def name(self) -> str:
        """`join3`, or `join0+2+3` where several hosts are served."""
        return f"join{'+'.join(str(number) for number in sorted(self._parts))}"

    @property
    def relations(self) -> frozenset[str]:
        """Folded names of the streams and tables that feed the node."""
        return frozenset(self.items_of)

    @property
    def failures(self) -> int:
        """Evaluations that gave NULL where Spark's ANSI mode would have failed."""
        checked = sum(part.checks.failures for part in self._parts.values())
        return self._failures_of_gone + checked + sum(each.failures for each in self.filters)

    # Hosts

    def take(self, host: JoinHost) -> None:
        """Serve one host more; its bodies follow."""
        seen: dict[str, int] = {}
        inputs = []
        for relation in host.relations:
            name = fold(relation.name)
            occurrence = seen.get(name, 0)
            seen[name] = occurrence + 1
            own = self.items_of.setdefault(name, [])
            if occurrence == len(own):
                own.append(self._new_item(self._states[name]))
            inputs.append(self.inputs[own[occurrence]])
        self._parts[host.number] = HostAtNode.of(host, inputs)

    def absorb(self, other: JoinMembership) -> None:
        """Take over everything that sits at another node, with the lineage of the tuples that are there."""
        other.clear(other.table.take_all_soiled())
        before = self.words
        self._widen(before + other.words)
        self.table.absorb(other.table, before * WORD_BITS)
        for part in list(other._parts.values()):
            self.take(part.host)
            own = self._parts[part.host.number]
            own.seats, own.results = part.seats, part.results
            for slot in self.table.slots.values():
                if slot.part is part:
                    slot.part = own
                    for each, formula in zip(own.inputs, slot.body.filters, strict=True):
                        self.filters[each.item].add(slot.number, formula)
            for mine, theirs in zip(own.inputs, part.inputs, strict=True):
                mine.lineage.values[:, before:] |= theirs.lineage.values
        self._failures_of_gone += other.failures
        other.close()

    def gather(self, other: JoinMembership, hosts: Collection[int]) -> None:
        """Take some hosts of another node, with their seats and the lineage of the tuples that are there.

        Slots are numbered without gaps, so the lineage is as short as it can be. The other node is not used any more.
        """
        parts = [part for number, part in other._parts.items() if number in hosts]
        slots = [slot for slot in other.table.slots.values() if slot.part.host.number in hosts]
        before = self.table.gather(other.table, slots)
        self._widen(word_count(self.table.size))
        places: dict[int, list[int]] = {number: [] for number in hosts}
        for at, slot in enumerate(slots):
            places[slot.part.host.number].append(at)
        moves: dict[tuple[int, int], list[int]] = {}
        for part in parts:
            if not self.serves(part.host):
                self.take(part.host)
            own = self._parts[part.host.number]
            own.seats, own.results = part.seats, part.results
            for mine, theirs in zip(own.inputs, part.inputs, strict=True):
                moves.setdefault((mine.item, theirs.item), []).extend(places[part.host.number])
            for slot in [slots[at] for at in places[part.host.number]]:
                slot.part = own
                for each, formula in zip(own.inputs, slot.body.filters, strict=True):
                    self.filters[each.item].add(slot.number, formula)
        now = np.array([slot.number for slot in slots], np.int64)
        for (to_item, from_item), own_places in moves.items():
            state = self.inputs[to_item].state
            live = slice(state.first - state.base, state.head - state.base)
            target = self.inputs[to_item].lineage.values[live]
            move_bits(
                other.inputs[from_item].lineage.values[live],
                before[own_places],
                target,
                now[own_places],
            )

    @property
    def alone(self) -> HostAtNode | None:
        """The host, where there is one and its items are those of the node."""
        parts = list(self._parts.values())
        whole = len(parts) == 1 and parts[0].items == tuple(range(len(self.inputs)))
        return parts[0] if whole else None

    @property
    def parts(self) -> list[HostAtNode]:
        """The hosts that are served."""
        return list(self._parts.values())

    @property
    def heads(self) -> dict[str, int]:
        """By folded stream name, how many tuples were stored so far."""
        states = {name: self._states[name] for name in self.items_of}
        return {name: state.head for name, state in states.items() if state.relation.is_stream}

    @property
    def stored(self) -> dict[str, int]:
        """The same since the node is there."""
        return {name: head - self._heads_before[name] for name, head in self.heads.items()}

    @property
    def slots(self) -> list[Slot]:
        """The slots that are taken."""
        return list(self.table.slots.values())

    def columns_read(self, relation: str) -> set[int]:
        """The columns of a relation (folded name) that somebody here reads, or more than these."""
        return set[int]().union(*(part.columns_read(relation) for part in self.parts))

    @property
    def used_inputs(self) -> list[JoinInput]:
        """The inputs of the items that some host has, in the order of the items."""
        items = [item for own in self.items_of.values() for item in own]
        return [self.inputs[item] for item in sorted(items)]

    def begin_to_count(self) -> None:
        """Let `stored` begin with nothing."""
        self._heads_before = {
            name: self.inputs[items[0]].state.head for name, items in self.items_of.items()
        }

    def serves(self, host: JoinHost) -> bool:
        """Whether bodies of the host sit here."""
        return host.number in self._parts

    def close(self) -> None:
        """Give back the lanes in the shared states; the join is not used any more."""
        for items in self.items_of.values():
            for item in items:
                self.inputs[item].state.detach(self.inputs[item].lineage)

    def _drop_part(self, part: HostAtNode) -> None:
        """Forget a host without bodies, and the items that only it had."""
        del self._parts[part.host.number]
        self._failures_of_gone += part.checks.failures
        used = {item for each in self._parts.values() for item in each.items}
        for name, items in list(self.items_of.items()):
            for item in [each for each in items if each not in used]:
                items.remove(item)
                self.inputs[item].state.detach(self.inputs[item].lineage)
                self._free_items.append(item)
            if not items:
                del self.items_of[name]

    def _new_item(self, state: SharedState) -> int:
        lane = Lane(np.zeros((state.capacity, self.words), np.uint64))
        state.attach(lane)
        self._heads_before.setdefault(fold(state.relation.name), state.head)
        types = tuple(column.type for column in state.relation.columns)
        item = self._free_items.pop() if self._free_items else len(self.inputs)
        if item == len(self.inputs):
            self.inputs.append(JoinInput(item, state, lane))
            self.filters.append(ItemFilter(types))
            self.work.append(Work())
        else:
            self.inputs[item] = JoinInput(item, state, lane)
            self._failures_of_gone += self.filters[item].failures
            self.filters[item] = ItemFilter(types)
            self.work[item] = Work()
        return item

    def count_work_of(self, other: JoinMembership) -> None:
        """Add what was done at the same items of a node that is no more."""
        for name, items in other.items_of.items():
            for mine, theirs in zip(self.items_of.get(name, ()), items, strict=False):
                self.work[mine].add(other.work[theirs])

    # Bodies

    def add(self, body: Body, *, past: bool = False) -> JoinSeat:
        """Serve a body: it sees tuples inserted from now on, with `past` also those that are in the states."""
        assert body.host is not None
        part = self._parts[body.host.number]
        self.clear(self.table.take_soiled())
        seat, is_new = self.table.place(part, body, self._epoch(part, past=past))
        part.seats += 1
        if is_new:
            self._widen(word_count(self.table.size))
            for each, formula in zip(part.inputs, body.filters, strict=True):
                self.filters[each.item].add(seat.slot.number, formula)
            for position, each in enumerate(part.inputs):
                if past or not each.state.relation.is_stream:
                    self._backfill(each, position, seat)
        return seat

    def remove(self, seat: Seat) -> None:
        """Stop serving a body; what only it used is freed."""
        assert isinstance(seat, JoinSeat)
        part = seat.slot.part
        is_gone = self.table.leave(seat)
        if is_gone:
            for item in part.items:
                self.filters[item].remove(seat.slot.number)
        part.seats -= 1
        if not part.seats and len(self._parts) > 1:
            self._drop_part(part)
        if is_gone:
            self._narrow()

    def _epoch(self, part: HostAtNode, *, past: bool) -> Hashable:
        streams = [each.state for each in part.stream_inputs]
        if past or not any(len(state) for state in streams):
            return past
        return past, tuple(state.head for state in streams)

    def _widen(self, words: int) -> None:
        if words <= self.words:
            return
        for items in self.items_of.values():
            for each in [self.inputs[item] for item in items]:
                wider = np.zeros((each.state.capacity, words), np.uint64)
                wider[:, : self.words] = each.lineage.values
                each.lineage.values = wider
        self.words = words
        self.counts = np.zeros(words * WORD_BITS, np.int64)

    def _narrow(self) -> None:
        """When most have left, number the slots anew and give back the lineage that they had: a quarter is enough by then.

        Whatever else a join has by slot (its plan, a tree, presences), it makes anew from the tuples when bodies come or go.
        """
        words = word_count(len(self.table))
        if words * _NARROWER > self.words:
            return
        before, now = self.table.compact()
        for items in self.items_of.values():
            for each in [self.inputs[item] for item in items]:
                state = each.state
                live = slice(state.first - state.base, state.head - state.base)
                narrower = np.zeros((state.capacity, words), np.uint64)
                move_bits(each.lineage.values[live], before, narrower[live], now)
                each.lineage.values = narrower
                self._failures_of_gone += self.filters[each.item].failures
                self.filters[each.item] = ItemFilter(
                    tuple(column.type for column in state.relation.columns)
                )
        for slot in self.table.slots.values():
            for each, formula in zip(slot.part.inputs, slot.body.filters, strict=True):
                self.filters[each.item].add(slot.number, formula)
        self.words = words
        self.counts = np.zeros(words * WORD_BITS, np.int64)

    # Tuples

    def store(self, item: int, lineage: NDArray[np.uint64], first: int) -> None:
        """Write the lineage of tuples that were stored from position `first` on."""
        each = self.inputs[item]
        at = first - each.state.base
        target = each.lineage.values[at : at + len(lineage)]
        words = min(lineage.shape[1], self.words)
        target[:, :words] = lineage[:, :words]
        if words < self.words:
            target[:, words:] = 0

    def clear(self, soiled: list[int]) -> None:
        """Take the bits of some slots off all stored tuples."""
        if soiled:
            kept = ~bitmap(soiled, self.words)
            for items in self.items_of.values():
                for item in items:
                    self.inputs[item].lineage.values &= kept

    def _backfill(self, each: JoinInput, position: int, seat: JoinSeat) -> None:
        """Let a slot see the tuples that a state already holds."""
        state = each.state
        if not len(state):
            return
        own = ItemFilter(tuple(column.type for column in state.relation.columns))
        own.add(0, seat.body.filters[position])
        packet = state.packet()
        wanted: NDArray[np.uint64] = own.match(packet)[:, 0] & np.uint64(1)
        for column in _required_columns(seat.body, position):
            valid = packet.columns[column].valid
            if valid is not None:
                wanted[~valid] = 0
        word, bit = divmod(seat.slot.number, WORD_BITS)
        live = slice(state.first - state.base, state.head - state.base)
        each.lineage.values[live, word] |= wanted << np.uint64(bit)


def _required_columns(body: Body, item: int) -> set[int]:
    ends = [(edge.left_item, edge.left_column) for edge in body.equi_joins]
    ends += [(edge.right_item, edge.right_column) for edge in body.equi_joins]
    ends += [(theta.left_item, theta.left_column) for theta in body.theta_joins]
    ends += [(theta.right_item, theta.right_column) for theta in body.theta_joins]
    return {column for end_item, column in ends if end_item == item}
