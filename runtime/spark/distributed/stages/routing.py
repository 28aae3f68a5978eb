"""Which cells of a group the tuples of a packet go to.

A tuple that no query of the group wants goes nowhere. The others have a coordinate on some axes of the group's box (the hash of
a column, or dealt out in turn) and go to every place along the other axes. A tuple whose join column is NULL can meet nobody; where
the axis is one of keys, NULL is a key.
Tuples with a heavy value have places of their own (`skew`).
"""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.graph.derive import parts_of
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.normal import ALWAYS
from cqc.runtime.filter.grouped_filter import StreamFilter
from cqc.runtime.spark.distributed.stages.skew import is_hashed, places
from cqc.runtime.state.hash_chains import KeyKind, keys_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from cqc.compiler.graph.partitioning import Axis, Group
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import Formula, NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.spark.distributed.messages.spec import Spread
    from cqc.runtime.spark.distributed.stages.skew import Load


class Router:
    """Sends the tuples that the queries of one group want to its cells."""

    def __init__(self, group: Group, *, keeps_all: bool) -> None:
        self.group = group
        self._keeps_all = keeps_all
        self._wanted: dict[str, _Wanted] = {}
        self._spread: dict[int, Spread] = {}  # by the code of a heavy value

    def spread(self, spread: Spread) -> None:
        """Give a heavy value places of its own."""
        if spread.stream:
            self._spread[spread.code] = spread
        else:
            self._spread.pop(spread.code, None)

    def add(self, query: NormalQuery, group: Group) -> None:
        """Send what one more query wants; `group` is the group with it."""
        self.group = group
        for relation, formula in self._conditions(query):
            name = fold(relation.name)
            if name not in self._wanted:
                self._wanted[name] = _Wanted(relation)
            self._wanted[name].add(formula)

    def remove(self, query: NormalQuery) -> None:
        """A query has left."""
        for relation, formula in self._conditions(query):
            self._wanted[fold(relation.name)].remove(formula)

    def _conditions(self, query: NormalQuery) -> Iterator[tuple[Relation, Formula]]:
        """What a query wants of each of its streams; nothing where all tuples come."""
        for part in () if self.group.whole else parts_of(query):
            for item, formula in zip(part.items, part.filters, strict=True):
                if item.relation.is_stream:
                    yield item.relation, formula

    def route(
        self, stream: str, packet: Packet, turn: int, load: Load
    ) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Cells, and the rows of the packet that go there.

        Args:
            stream: folded name.
            packet: its tuples.
            turn: where dealing out begins.
            load: takes a note of frequent values.
        """
        rows = self._rows(stream, packet)
        if not len(rows):
            return
        strides = _strides(self.group.axes)
        place = np.zeros(len(rows), np.int64)
        free: list[list[int]] = []
        usable = np.ones(len(rows), np.bool_)
        for axis, stride in zip(self.group.axes, strides, strict=True):
            column = axis.column_of(stream)
            if column is not None:
                values = packet.columns[column]
                codes = codes_of(axis, packet, column)[rows]
                if values.valid is not None and axis.holds_null:
                    codes = np.where(values.valid[rows], codes, 0)
                elif values.valid is not None:
                    usable &= values.valid[rows]
                place += places(codes, axis.size) * stride
            elif axis.dealt == stream:
                place += (np.arange(turn, turn + len(rows)) % axis.size) * stride
            else:
                free.append([at * stride for at in range(axis.size)])
        if not usable.all():
            rows, place = rows[usable], place[usable]
        if self.group.cells == 1:
            yield 0, rows
            return
        if is_hashed(self.group):
            codes = codes[usable]
            load.note(self.group.number, stream, codes, self.group.cells)
            if self._spread:
                rows, place = self._with_heavy(stream, rows, place, codes, turn)
        order = np.lexsort((rows, place))
        rows, place = rows[order], place[order]
        starts = np.flatnonzero(np.concatenate(([True], place[1:] != place[:-1])))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(rows)], strict=True):
            if start < stop:
                for offsets in product(*free):
                    yield int(place[start]) + sum(offsets), rows[start:stop]

    def _with_heavy(
        self,
        stream: str,
        rows: NDArray[np.int64],
        place: NDArray[np.int64],
        codes: NDArray[np.int64],
        turn: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows with the places of heavy values changed; rows that are copied come once for each cell."""
        cells = self.group.cells
        copied = [code for code, each in self._spread.items() if each.stream != stream]
        dealt = [
            code for code, each in self._spread.items() if each.stream == stream and each.dealt
        ]
        if dealt:
            heavy = np.flatnonzero(np.isin(codes, np.array(dealt, np.int64)))
            place[heavy] = np.arange(turn, turn + len(heavy)) % cells
        if copied:
            to_all = np.isin(codes, np.array(copied, np.int64))
            again = rows[to_all]
            rows = np.concatenate([rows[~to_all], np.tile(again, cells)])
            place = np.concatenate([place[~to_all], np.repeat(np.arange(cells), len(again))])
        return rows, place

    def _rows(self, stream: str, packet: Packet) -> NDArray[np.int64]:
        everything = np.arange(len(packet))
        if self._keeps_all or stream in self.group.whole:
            return everything
        wanted = self._wanted.get(stream)
        if wanted is None:
            return everything[:0]
        mask = wanted.mask(packet)
        return everything if mask is None else np.flatnonzero(mask)


class _Wanted:
    """The tuples of a stream that some query wants: each distinct condition is asked once."""

    def __init__(self, relation: Relation) -> None:
        self._types = tuple(column.type for column in relation.columns)
        self._filter = StreamFilter(self._types)
        self._slots: dict[Formula, int] = {}
        self._free: list[int] = []
        self._users: Counter[Formula] = Counter()

    def add(self, formula: Formula) -> None:
        self._users[formula] += 1
        if self._users[formula] == 1 and formula != ALWAYS:
            slot = self._free.pop() if self._free else len(self._slots)
            self._slots[formula] = slot
            self._filter.add(slot, formula)

    def remove(self, formula: Formula) -> None:
        self._users[formula] -= 1
        if not self._users[formula]:
            del self._users[formula]
            if formula != ALWAYS:
                slot = self._slots.pop(formula)
                self._filter.remove(slot)
                self._free.append(slot)

    def mask(self, packet: Packet) -> NDArray[np.bool_] | None:
        """Which tuples are wanted; None for all."""
        if ALWAYS in self._users:
            return None
        if not self._slots:
            return np.zeros(len(packet), np.bool_)
        wanted: NDArray[np.bool_] = self._filter.match(packet).any_tuple()
        return wanted


def _strides(axes: tuple[Axis, ...]) -> list[int]:
    strides, stride = [], 1
    for axis in axes:
        strides.append(stride)
        stride *= axis.size
    return strides


def codes_of(axis: Axis, packet: Packet, column: int) -> NDArray[np.int64]:
    """A number for each value of a column: equal values, in the sense of the language, have one number."""
    kind = KeyKind.AS_DOUBLE if axis.as_double else KeyKind.PLAIN
    return keys_of(packet.columns[column], kind)
