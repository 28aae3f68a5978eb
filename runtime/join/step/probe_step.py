"""One level of an n-ary join: extend partial combinations, which bind some items, by one item more.

A level is made when the set of slots changes, and holds everything its kernel needs in the form the kernel needs it: which
chains to walk or how far to scan, the windows to each bound item as rank sets, the theta lists, and output arrays that only
grow. Per packet it gathers the keys and values of the rows and calls one kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.runtime.adapt import settings
from cqc.runtime.join.step.phase_order import PhaseOrder, StepParts
from cqc.runtime.join.step.probe_kernels import (
    GAVE_UP,
    MOST_STEPS,
    NO_LIMIT,
    extend_by_key,
)
from cqc.runtime.join.step.row_kernels import count_slots
from cqc.runtime.join.step.scan_kernels import MOST_SIFTED, extend_by_time
from cqc.runtime.join.step.theta_lists import PredicateList, code_of
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.rank_lineage import FAR_US, RankSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.step.phase_order import PhaseCounts
    from cqc.runtime.state.lanes import Lane
    from cqc.runtime.state.scan_lane import ScanLane
    from cqc.runtime.state.shared_state import SharedState

_ROOM = 1024
_MOST_ROOM = 1 << 21
_NEVER = 1 << 62
_NO_TALLY = np.zeros(0, np.int64)


@record
class JoinInput:
    """One item of a host at run time: the state of its relation and its own lineage beside the tuples."""

    item: int
    state: SharedState
    lineage: Lane


@record
class KeyEdge:
    """An equality between a bound item (by its place in the row) and the item that the level adds."""

    place: int
    bound_form: int
    target_form: int


@dataclass(slots=True)
class Work:
    """What was done to join with one item: rows that probed, candidates they met, rows that came out."""

    probes: int = 0
    candidates: int = 0
    found: int = 0

    def add(self, other: Work) -> None:
        """Count what another one counted."""
        self.probes += other.probes
        self.candidates += other.candidates
        self.found += other.found


class Rows:
    """Partial combinations: `positions[place, row]`, `ts[place, row]`, `lineage[row]`, the first `count` rows."""

    def __init__(self, places: int, words: int, times: int | None = None) -> None:
        """`times`: how many event times of a row are kept; 1 is the latest of them."""
        self.count = 0
        self._places = places
        self._times = places if times is None else times
        self._words = words
        self.resize(_ROOM)

    def resize(self, room: int) -> None:
        """Make room; what was there is gone."""
        self.positions = np.empty((self._places, room), np.int64)
        self.ts = np.empty((self._times, room), np.int64)
        self.lineage = np.empty((room, self._words), np.uint64)
        self.block = (self.positions, self.ts, self.lineage)  # a RowBlock, for kernels
        self.room = room

    @property
    def nbytes(self) -> int:
        return int(self.positions.nbytes + self.ts.nbytes + self.lineage.nbytes)

    @property
    def oldest_us(self) -> int:
        """The earliest event time of the tuples that started the rows; there is at least one."""
        return int(self.ts[0, : self.count].min())


@record
class StepPlan:
    """What a step is to do: extend rows over the items of `bound`, in that order, by `target`."""

    bound: tuple[JoinInput, ...]
    target: JoinInput
    edges: tuple[KeyEdge, ...]
    windows: Sequence[RankSets]  # of target minus each bound item
    thetas: Sequence[PredicateList]
    words: int
    before_packet: bool  # only tuples before the packet that is joined (self-joins)
    completes: bool = False  # its rows are whole combinations of streams, for one host


class ProbeStep:
    """Extends rows as a plan says."""

    def __init__(self, plan: StepPlan, work: Work) -> None:
        """`work` counts what is done."""
        words = plan.words
        self.target = plan.target
        self.completes = plan.completes
        self.before_packet = plan.before_packet
        self.rows = Rows(len(plan.bound) + 1, words, 1 if plan.completes else None)
        # By slot, how many rows were found last, where that is all anybody asks: scans do not write them then.
        self.tally: NDArray[np.int64] | None = None
        self._width: tuple[int] | NDArray[np.int64] = (
            (0,) if words == 1 else np.empty(words, np.int64)
        )
        self._work = work
        self._bound = plan.bound
        self.by_key = bool(plan.edges)
        self.arranged = 0  # counts how often the equalities got another order
        self._arrange(plan.edges)
        # So many tuples must be there before it is looked again which chains are short.
        self._look_at = settings.CHAINS_FIRST_LOOK if len(plan.edges) > 1 else _NEVER
        self.phases: PhaseOrder | None = None  # None: always the fused kernel
        self._prepare_windows(plan.windows, words)
        self._prepare_thetas(self._hub_first(plan.thetas), words)
        # Whether the level only compares keys of two items.
        self.is_pair = len(plan.bound) == 1 and self.by_key and not self._lists
        self._lane_columns = np.zeros(0, np.int64)
        self._scratch(_ROOM)
        self._hub_arguments = (self._hub, self._hub_lists, self._loosest)
        self._scanned: ScanLane | None = None

    @property
    def scanned_columns(self) -> list[int]:
        """The value columns of the target's state that a scan reads."""
        return [] if self._edges else list(self._thetas[1])

    def scan_lane(self, lane: ScanLane) -> None:
        """Where the tuples of the target are in time order."""
        self._scanned = lane
        places = {column: row for row, column in enumerate(lane.columns)}
        self._lane_columns = np.array([places[column] for column in self._thetas[1]], np.int64)
        self._group_thetas()

    @property
    def least_us(self) -> int:
        """The least distance to the first bound item that any slot allows."""
        return self._loosest_low_us

    @property
    def edges(self) -> tuple[KeyEdge, ...]:
        """The equalities with bound items; the first one says which chains are walked."""
        return self._edges

    @property
    def target_forms(self) -> NDArray[np.int64]:
        """The key form of the target for each of `edges`."""
        return self._forms

    @property
    def windows(self) -> tuple[NDArray[Any], ...]:
        """Windows to each bound item: where the cuts of each begin, the cuts, the sets between them."""
        return self._windows

    @property
    def thetas(self) -> tuple[NDArray[Any], ...]:
        """Theta lists: codes, columns of the target, starts, parameters, sets, members."""
        return self._thetas

    @property
    def value_sources(self) -> list[tuple[int, int]]:
        """For each theta list the place of the bound item that is compared, and its value column."""
        return [(place, int(column)) for place, columns, _ in self._sources for column in columns]

    @property
    def width(self) -> tuple[int] | NDArray[np.int64]:
        """Counts the words of a lineage for the kernels."""
        return self._width

    @property
    def bound(self) -> tuple[JoinInput, ...]:
        """What is bound before this level, in its order."""
        return self._bound

    @property
    def bound_items(self) -> list[int]:
        """The items that are bound before this level, in their order."""
        return [each.item for each in self._bound]

    def order_phases(self, counts: PhaseCounts) -> None:
        """Look at attribute, join and window conditions in the join's order, or in one that adapts."""
        self.phases = PhaseOrder(counts, by_key=self.by_key, has_thetas=self._lists > 0)

    @property
    def starters(self) -> tuple[Any, ...]:
        """The state of the first bound item, and the key forms of the equalities: Starters, for kernels."""
        state = self._bound[0].state
        return state.chains.links, state.base, self._own_forms, self._forms

    def limit(self, packet_first: int) -> int:
        """The position behind the last tuple that may be met by rows of the packet that begins there."""
        return packet_first if self.before_packet else self.target.state.head

    def chain_target(self, limit: int) -> tuple[Any, ...]:
        """The state that is met: a ChainTarget, for kernels. Where its arrays are may change with every packet."""
        state = self.target.state
        chains = state.chains
        return (
            chains.heads, chains.links, chains.shift, state.base, state.first, limit,
            state.ts, state.newest, self.target.lineage.values, state.values,
        )  # fmt: skip

    def _arrange(self, edges: tuple[KeyEdge, ...]) -> None:
        self._edges = edges
        self._own_forms = np.array([edge.bound_form for edge in edges], np.int64)
        self._forms = np.array([edge.target_form for edge in edges], np.int64)

    def _choose_chains(self) -> None:
        """Walk the chains that are shortest from now on: a host has thousands of tuples, a process few."""
        state = self.target.state
        self._look_at = settings.CHAINS_NEXT_LOOK * len(state)
        end = state.head - state.base
        part = slice(max(state.first - state.base, end - settings.CHAINS_SAMPLE), end)
        lengths = [state.chains.mean_length(edge.target_form, part) for edge in self._edges]
        best = int(np.argmin(lengths))
        if lengths[best] < settings.CHAINS_CLEARLY * lengths[0]:
            others = self._edges[:best] + self._edges[best + 1 :]
            self._arrange((self._edges[best], *others))
            self._equalities = (self._keys, self._forms)
            self.arranged += 1

    def note_work(self, probes: int, candidates: int, found: int) -> None:
        """Count what was done in the level's place."""
        self._work.probes += probes
        self._work.candidates += candidates
        self._work.found += found

    def extend(self, rows: Rows, packet_first: int) -> Rows:
        """The rows extended by every tuple that some slot wants with them; a count of GAVE_UP when that is too much at once.

        `packet_first` is the first position of the packet that is joined.
        """
        count = rows.count
        if count > self._keys.shape[1]:
            self._scratch(2 * count)
        if len(self.target.state) > self._look_at:
            self._choose_chains()
        for number, edge in enumerate(self._edges):
            chains, base = self._bound[edge.place].state.chains, self._bound[edge.place].state.base
            gather_keys(
                chains.links,
                edge.bound_form,
                base,
                rows.positions[edge.place],
                count,
                self._keys[number],
            )
        for place, columns, begin in self._sources:
            state = self._bound[place].state
            gather_values(
                state.values,
                columns,
                state.base,
                rows.positions[place],
                count,
                self._probing,
                begin,
            )
        if self.rows.room > _MOST_ROOM and 16 * self.rows.count < self.rows.room:
            self.rows.resize(_ROOM)  # a burst is over
        limit = self.limit(packet_first)
        if self.phases is not None and self.phases.takes(self._parts, rows, limit):
            found, candidates = self.phases.extend(self._parts(limit), rows, limit)
            if self.tally is not None and found != GAVE_UP:
                count_slots(self.rows.lineage, found, self.tally)
        else:
            found, candidates = self._fused(rows, limit)
        self.rows.count = found
        self.note_work(count, candidates, max(found, 0))
        return self.rows

    def _fused(self, rows: Rows, limit: int) -> tuple[int, int]:
        """One kernel that checks everything about a candidate at once."""
        measures = self.phases is not None and self.phases.measures
        started = thread_time() if measures else 0.0
        found, candidates = self._call(rows, limit)
        if found > self.rows.room and self.tally is None:
            self.rows.resize(max(found, 2 * self.rows.room))
            found, candidates = self._call(rows, limit)
        if self.phases is not None and measures:
            self.phases.saw_fused(thread_time() - started)
        return found, candidates

    def _parts(self, limit: int) -> StepParts:
        return StepParts(
            self.target.state, self.target.lineage, self.chain_target(limit), self._keys, self._forms,
            self._windows, self._loosest, self._theta_arguments, self.rows,
        )  # fmt: skip

    def _call(self, rows: Rows, limit: int) -> tuple[int, int]:
        if self._edges:
            return extend_by_key(  # type: ignore[no-any-return]  # a numba kernel
                rows.count, rows.block, self._equalities, self.chain_target(limit), self._loosest_low_us,
                self._windows, self._theta_arguments, self.rows.block, self._width,
                MOST_STEPS if rows.count > 2 else NO_LIMIT,
            )  # fmt: skip
        lane, first = self._scanned, self.target.state.first
        assert lane is not None
        lane.drop_before(first)
        target = (
            lane.ts,
            lane.positions,
            lane.lineage,
            lane.values,
            lane.start,
            lane.end,
            first,
            limit,
        )
        return extend_by_time(  # type: ignore[no-any-return]
            rows.count, rows.block, self._hub_arguments, target, self._windows, self._lane_thetas,
            self.rows.block, _NO_TALLY if self.tally is None else self.tally, self._width,
            MOST_SIFTED if rows.count > 2 else NO_LIMIT,
        )  # fmt: skip

    def _prepare_windows(self, windows: Sequence[RankSets], words: int) -> None:
        cuts = [window.cuts for window in windows]
        starts = np.zeros(len(windows) + 1, np.int64)
        np.cumsum([len(each) for each in cuts], out=starts[1:])
        sets = np.concatenate([window.sets for window in windows])
        assert sets.shape[1] == words
        self._windows = (starts, np.concatenate(cuts), sets)
        self._loosest = np.array([_loosest(window) for window in windows], np.int64)
        self._loosest_low_us = int(self._loosest[0, 0])

    def _hub_first(self, thetas: Sequence[PredicateList]) -> list[PredicateList]:
        """Choose the hub, the bound item that tells most about the target, and put its lists first."""
        places = {each.item: place for place, each in enumerate(self._bound)}

        def place_of(theta: PredicateList) -> int:
            shape = theta.shape
            return places[
                shape.right_item if shape.left_item == self.target.item else shape.left_item
            ]

        slots = [0] * len(self._bound)
        for theta in thetas:
            slots[place_of(theta)] += int(np.bitwise_count(theta.members).sum())
        spread = self._loosest[:, 1] // 2 - self._loosest[:, 0] // 2
        self._hub = min(range(len(self._bound)), key=lambda place: (-slots[place], spread[place]))
        ordered = sorted(thetas, key=lambda theta: place_of(theta) != self._hub)
        self._hub_lists = sum(place_of(theta) == self._hub for theta in thetas)
        return ordered

    def _prepare_thetas(self, thetas: Sequence[PredicateList], words: int) -> None:
        places = {each.item: place for place, each in enumerate(self._bound)}
        codes, columns, sources = [], [], list[tuple[int, int]]()
        for theta in thetas:
            shape = theta.shape
            sides = {shape.left_item: shape.left_column, shape.right_item: shape.right_column}
            target_column = sides.pop(self.target.item)
            ((item, column),) = sides.items()
            place = places[item]
            codes.append(code_of(shape, item))
            columns.append(self.target.state.value_column(target_column))
            sources.append((place, self._bound[place].state.value_column(column)))
        self._sources = _by_place(sources)
        self._lists = len(sources)
        starts = np.zeros(len(thetas) + 1, np.int64)
        np.cumsum([len(theta.parameters) for theta in thetas], out=starts[1:])
        self._thetas = (
            np.array(codes, np.int64),
            np.array(columns, np.int64),
            starts,
            np.concatenate([np.zeros((0, 4)), *(theta.parameters for theta in thetas)]),
            np.concatenate([np.zeros((0, words), np.uint64), *(theta.sets for theta in thetas)]),
            np.array([theta.members for theta in thetas], np.uint64).reshape(-1, words),
        )

    def _scratch(self, room: int) -> None:
        self._keys = np.zeros((max(1, len(self._edges)), room), np.int64)
        self._probing = np.zeros((self._lists, room), np.float64)
        self._equalities = (self._keys, self._forms)
        self._group_thetas()

    def _group_thetas(self) -> None:
        """Thetas for kernels: with columns of the state, and with those of the lane that is scanned."""
        codes, columns, *others = self._thetas
        self._theta_arguments = (codes, columns, *others, self._probing)
        self._lane_thetas = (codes, self._lane_columns, *others, self._probing)

    @property
    def nbytes(self) -> int:
        sets = sum(int(array.nbytes) for array in (*self._windows, *self._thetas))
        return self.rows.nbytes + sets


def _by_place(sources: list[tuple[int, int]]) -> list[tuple[int, NDArray[np.int64], int]]:
    """Runs of value columns that come from one place: (place, columns, number of the first)."""
    runs: list[tuple[int, NDArray[np.int64], int]] = []
    begin = 0
    for end in range(1, len(sources) + 1):
        if end == len(sources) or sources[end][0] != sources[begin][0]:
            columns = np.array([column for _, column in sources[begin:end]], np.int64)
            runs.append((sources[begin][0], columns, begin))
            begin = end
    return runs


def _loosest(window: RankSets) -> tuple[int, int]:
    """The least and the largest number for which the set is not empty."""
    filled = np.flatnonzero(window.sets.any(axis=1))
    if not len(filled):
        return FAR_US, -FAR_US
    low = -FAR_US if filled[0] == 0 else int(window.cuts[filled[0] - 1])
    high = FAR_US if filled[-1] == len(window.cuts) else int(window.cuts[filled[-1]]) - 1
    return low, high


@njit(cache=True, nogil=True)
def gather_keys(links, form, base, positions, count, out):  # type: ignore[no-untyped-def]
    """out[row] = the key of the tuple at positions[row]."""
    for row in range(count):
        out[row] = links[form, positions[row] - base, 1]


@njit(cache=True, nogil=True)
def gather_values(values, columns, base, positions, count, out, begin):  # type: ignore[no-untyped-def]
    """out[begin + number, row] = the value in columns[number] of the tuple at positions[row]."""
    for number in range(len(columns)):
        for row in range(count):
            out[begin + number, row] = values[positions[row] - base, columns[number]]
