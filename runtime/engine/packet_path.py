"""The way of packets through the operators: filtered, kept, joined; what was found is delivered or noted for pull queries.

A micro-batch goes stream by stream, in the order of declaration, so every combination appears exactly once, with the tuple
that was processed last. What it found waits in `results` until somebody drains it.

Which parts of the engine take part in that is decided when queries come and go (`queries_changed`): a micro-batch of a program
without views, alerts or EXISTS does not ask for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.deliver.result_queue import ResultQueue
from cqc.runtime.deliver.results import in_time_order
from cqc.runtime.engine.purge import Purge
from cqc.runtime.errors import RunError
from cqc.runtime.join.execute.join_node import push_packet

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.deliver.results import ResultBlock, ResultGroup
    from cqc.runtime.engine.parts import EngineParts
    from cqc.runtime.filter.selections import Selections
    from cqc.runtime.join.execute.join_node import JoinNode
    from cqc.runtime.lineage.matches import Found
    from cqc.runtime.state.shared_state import SharedState

_MOST_FOUND = 1 << 20  # rows of findings that wait to be delivered together


@dataclass(frozen=True, slots=True)
class StreamPath:
    """Where the packets of one stream go, until queries come or go; the operators are lists that the circuit changes."""

    state: SharedState
    joins: Sequence[JoinNode]
    selections: Sequence[Selections]
    keep_all: bool  # somebody may ask for any of its tuples
    keep_wanted: bool  # not so, but for any that a filter lets pass
    is_watched: bool  # by alerts
    asks_joins: bool  # they say which tuples wait for what is not there


class PacketPath:
    """Lets packets go through the operators of one engine.

    Args:
        parts: the engine's.
        keep_past: keep tuples for pull queries that are registered later.
        collect: with False results are counted and do not wait to be drained.
    """

    def __init__(self, parts: EngineParts, *, keep_past: bool, collect: bool) -> None:
        self._views = parts.views
        self._relations = parts.relations
        self._states = parts.relations.states
        self._circuit = parts.circuit
        self._deliveries = parts.deliveries
        self._pulls = parts.pulls
        self._absent = parts.absent
        self._decided = parts.decided
        self._alerts = parts.alerts
        self._paths: dict[str, StreamPath] = {}  # by folded name, as far as packets came
        self._is_guarded = False  # something of what is found may wait for what is not there
        self._has_views = False
        self._waits = False  # for the watermark: rows of windows and OVER, and alerts
        self._is_held = False  # something of what is found, by those
        self._replays = False  # what is found was held before
        self._keep_past = keep_past
        self._collect = collect
        self.purge = Purge(parts, keep_past=keep_past)
        self.results: ResultQueue[tuple[list[ResultGroup], list[ResultBlock]]] = ResultQueue()
        self.silenced: dict[str, str] = {}  # queries that went too far, and why
        self._has_begun = False  # a tuple of a stream has come

    def queries_changed(self) -> None:
        """Queries or streams came or went: look anew at who takes part in a micro-batch."""
        self._paths.clear()
        self.purge.queries_changed()
        self._has_views = len(self._views) > 0
        self._waits = len(self._decided) + len(self._alerts) > 0
        self._is_held = len(self._decided) > 0 or self._has_views
        self._is_guarded = len(self._absent) > 0 or self._has_views

    def work_on(self, packets: Mapping[str, Packet]) -> None:
        """Process one micro-batch: a packet for each stream or table (folded names) that has rows in it.

        Raises:
            RunError: for rows of a table after the first tuple of a stream.
        """
        watch = self._circuit.watch
        watch.begin()
        try:
            self._work_on(packets)
        finally:
            watch.end()

    def _work_on(self, packets: Mapping[str, Packet]) -> None:
        self._relations.settle_idle()
        groups: list[ResultGroup] = []
        found: list[Found] = []
        for name, line in self._relations.lines.items():
            packet = packets.get(name)
            if packet is None or not len(packet):
                continue
            if not line.is_stream:
                self._fill_table(name, packet)
                continue
            if not self._has_begun:
                self._has_begun = True
                self._views.tables.begin()
            for part, more in self._relations.packets[name].split(packet):
                found += self.process(name, part, more=more)
                if found and sum(len(each) for each in found) > _MOST_FOUND:
                    groups += self._deliveries.deliver_all(found)
                    found = []
        if self._has_views:
            found += self._make_views()
        found += self._late_findings()
        if found:
            groups += self._deliveries.deliver_all(found)
        blocks = self._pulls.due() + self._decisions()
        self.purge.after_batch()
        self.keep(groups, blocks)
        self.silenced |= self._circuit.silenced() | self._pulls.take_silenced()
        self._circuit.adapt()

    def process(self, name: str, packet: Packet, *, more: bool = False) -> list[Found]:
        """What a packet of one stream finds for push queries; `more`: another one of its micro-batch follows."""
        path = self._paths.get(name) or self._find_path(name)
        state, joins, keep_all = path.state, path.joins, path.keep_all
        first = state.head
        found: list[Found] = []
        if not path.keep_wanted:
            # A join may give up; what filters count would then be told and never delivered. So they come after it.
            if joins or keep_all:
                whole = path.asks_joins
                found += push_packet(
                    state, joins, packet, keep_all=keep_all, more=more, whole=whole
                )
            found += [each.process(packet, first) for each in path.selections]
        else:
            selected = [each.process(packet, first) for each in path.selections]
            wanted = np.zeros(len(packet), np.bool_)
            for each in selected:
                wanted |= each.wanted()
            found += push_packet(
                state, joins, packet, keep_all=keep_all, more=more, wanted=wanted,
                whole=path.asks_joins,
            )  # fmt: skip
            if state.head - first < len(packet):
                for each in selected:
                    each.were_kept(wanted)
            found += selected
        if path.asks_joins:
            self._absent.receive_stored(state, joins, first)
        if path.is_watched and not self._replays:
            self._alerts.observe(name, packet, found)
        return self._note(found) if found else found

    def _find_path(self, name: str) -> StreamPath:
        keep_all = self._pulls.needs(name) or (
            self._keep_past and name not in self._relations.derived
        )
        found = self._paths[name] = StreamPath(
            self._states[name],
            self._circuit.joins_of(name),
            self._circuit.selections_of(name),
            keep_all,
            not keep_all and self._absent.needs(name),
            self._alerts.watches(name),
            self._absent.asks_joins(name),
        )
        return found

    def insert(self, name: str, packet: Packet) -> None:
        """Keep rows of a table."""
        push_packet(self._states[name], self._circuit.joins_of(name), packet, keep_all=True)

    def end_input(self) -> None:
        """No row will follow: find what only the end decides."""
        for line in self._relations.lines.values():
            line.end_input()
        found = [*self._make_views(at_end=True), *self._late_findings(at_end=True)]
        groups = self._deliveries.deliver_all(found)
        self.keep(groups, self._pulls.due() + self._decisions())

    def keep(self, groups: list[ResultGroup], blocks: list[ResultBlock]) -> None:
        """What one micro-batch found waits to be drained."""
        if self._collect and (groups or blocks):
            self.results.put((groups, in_time_order(blocks)))

    def take_silenced(self) -> dict[str, str]:
        """The queries that went too far since this was last asked, and why."""
        silenced, self.silenced = self.silenced, {}
        return silenced

    # Going on where another engine was

    def replay(self, left: dict[str, Packet], until: Mapping[str, int] | None) -> None:
        """Process the tuples again that had arrived before some numbers (None: all), and take them out of `left`.

        What they find was delivered before, and is forgotten.
        """
        self._views.is_still = True
        self._views.tables.begin()
        for name, packet in left.items():
            if name not in self._states:
                continue  # a view that nobody reads yet
            count = len(packet)
            if until is not None:
                count = int(np.searchsorted(packet.arrival, until.get(name, 0)))
            if count:
                again = packet.take(np.arange(count))
                if name in self._relations.lines:
                    self._relations.lines[name].clock.tell_followers(again.ts_us)
                self._replays = True
                self.process(name, again)
                self._replays = False
                left[name] = packet.take(np.arange(count, len(packet)))

    def go_on(self) -> None:
        """All tuples were replayed and the clocks stand where they stood: what that completes was delivered too."""
        self._has_begun = True
        self._views.tables.begin()
        self.settle(at_end=False)
        self.results.clear()
        self._views.is_still = False

    def replay_end(self, left: dict[str, Packet], end: Mapping[str, int]) -> None:
        """Process tuples again up to a place at which the input had ended: what was missing there was delivered."""
        self.replay(left, end)
        everything = dict.fromkeys((*self._relations.lines, *self._relations.derived), ALL_SEEN)
        for view in (*self._absent.fed_views, None):
            self._absent.advance(everything, at_end=True, feeds=view)

    def settle(self, *, at_end: bool) -> None:
        """Decide what was decided before at this place, and forget it."""
        watermarks = self._relations.watermarks()
        for view in self._absent.fed_views:
            self._absent.advance(watermarks, at_end=at_end, feeds=view)
        self._late_findings(at_end=at_end)

    # Inside

    def _late_findings(self, *, at_end: bool = False) -> list[Found]:
        """What operators that wait for the watermark find now."""
        joins = self._circuit.row_joins
        found = self._advance(joins) if joins else []
        if len(self._absent):
            decided = self._absent.advance(self._relations.watermarks(), at_end=at_end)
            found = found + (decided if self._collect else [])
        return found

    def _advance(self, joins: Sequence[JoinNode]) -> list[Found]:
        if not joins:
            return []
        watermarks = self._relations.watermarks()
        return self._note([found for join in joins for found in join.advance(watermarks)])

    def _make_views(self, *, at_end: bool = False) -> list[Found]:
        """What the views of this micro-batch find: each is made when everything that it reads is complete."""
        found: list[Found] = []
        for view in self._views:
            rows = self._circuit.row_joins
            if rows:
                names = [name for name, feed in view.feeds.items() if not feed.node.patterns]
                joins = [self._circuit.join(name) for name in names]
                found += self._advance(
                    [join for join in joins if join is not None and join in rows]
                )
            if view.has_patterns:
                watermarks = self._relations.watermarks()
                self._views.receive(
                    self._absent.advance(watermarks, at_end=at_end, feeds=view.name)
                )
            packet = self._views.collect(view)
            if packet is None:
                continue
            for part, more in self._relations.packets[view.name].split(packet):
                found += self.process(view.name, part, more=more)
        return found

    def _decisions(self) -> list[ResultBlock]:
        """What the watermark decides now."""
        if not self._waits:
            return []
        watermarks = self._relations.watermarks()
        blocks = self._decided.due(watermarks) if len(self._decided) else []
        return blocks + self._alerts.due(watermarks)

    def _note(self, found: list[Found]) -> list[Found]:
        """Let pull queries keep what was found; what is left to deliver. It can be read until the states are purged."""
        found = [each for each in found if len(each)]
        for each in found:
            self._pulls.receive(each)
            if self._is_guarded:
                self._absent.receive(each)
            if self._is_held and not self._replays:
                self._decided.receive(each)
        if found and self._has_views:
            self._views.receive(found)
        return found if self._collect and not self._deliveries.is_empty else []

    def _fill_table(self, name: str, packet: Packet) -> None:
        if self._has_begun:
            table = self._relations.lines[name].relation.name
            raise RunError(f"table {table} cannot be filled after the first stream tuple")
        self.insert(name, packet)
