"""A route without forks, taken by one call: every level of it extends the rows of the one before, inside one kernel.

A small packet costs what its calls cost. Where all hosts of a join go the same way and meet every item by a key, nothing is
decided between two levels, so the way from the first to the last is one kernel that calls the kernel of each level. A level is
described to it by a row of numbers: where the arrays of its state are in memory, their sizes, and the level's own windows and
lists. The description is made anew when arrays are (`SharedState.layout` counts that); from packet to packet only the ends of the
states change.

    R -> S -> T: 100 tuples of R, one call: 100 rows meet S, what came of them meets T; the work of both levels is counted apart

What a level makes may not fit: the kernel stops there and says how much it would be, and goes on from there with more room. Nor
should so many rows meet a level at once that what they make leaves the processor's caches, or that it takes long: before such a level
it stops for good, and the rows go on in trains (`metaqueues`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.adapt import settings
from cqc.runtime.columns.array_addresses import address, carray, pointer
from cqc.runtime.join.step.probe_kernels import GAVE_UP, MOST_STEPS, NO_LIMIT, extend_by_key
from cqc.runtime.join.step.probe_step import Rows, gather_keys, gather_values
from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.join.execute.metaqueues import MetaQueue, MetaQueues
    from cqc.runtime.join.plan.routes import Branch
    from cqc.runtime.join.step.probe_step import ProbeStep
    from cqc.runtime.state.shared_state import SharedState

# What a row of numbers says about a level. The arrays of the state it joins with:
(
    STATE,
    LINKS,
    FORMS,
    HEADS,
    BUCKETS,
    SHIFT,
    TS,
    NEWEST,
    LINEAGE,
    VALUES,
    VALUE_COLUMNS,
    CAPACITY,
    BEFORE_PACKET,
) = range(13)
# its equalities and conditions (a pair is an address and a length),
(EDGE_FROM, EDGE_TO, SOURCE_FROM, SOURCE_TO, TARGET_FORMS, LEAST_US) = range(13, 19)
(CUT_STARTS, BOUND, CUTS, CUT_COUNT, WINDOW_SETS, SET_COUNT) = range(19, 25)
(
    CODES,
    COLUMNS,
    LISTS,
    STARTS,
    PARAMETERS,
    PARAMETER_COUNT,
    THETA_SETS,
    THETA_SET_COUNT,
    MEMBERS,
) = range(25, 34)
# and where its rows go.
(POSITIONS_OUT, TS_OUT, TIMES, LINEAGE_OUT, ROOM) = range(34, 39)
MOST = 39  # rows that should meet the level at once
_NUMBERS = 40

# What a row of numbers says about a value that a bound tuple has: its place in a row of the join, and where the value is.
(PLACE, ARRAY, ARRAY_ROWS, ARRAY_COLUMNS, VALUE_STATE, COLUMN) = range(6)

# The ends of a state: the position at index 0 of its arrays, of its first tuple, behind its last one.
(BASE, FIRST, HEAD) = range(3)


class FusedProbe:
    """The levels of a route without forks."""

    def __init__(self, branches: Sequence[Branch], words: int) -> None:
        """`branches` from the first to the last, as `straight` gives them."""
        self.levels: tuple[ProbeStep, ...] = tuple(branch.level for branch in branches)
        (self.leaving,) = branches[-1].exits  # the host whose combinations are whole at the end
        self._branches = branches
        self._words = words
        self._states = _states_of(self.levels)
        self._rows = [
            Rows(len(level.bound) + 1, words, 1 if level.completes else None)
            for level in self.levels
        ]
        self._state_numbers = {id(state): number for number, state in enumerate(self._states)}
        self._ends = np.zeros((len(self._states), 3), np.int64)
        self._numbers = np.zeros((len(self.levels), _NUMBERS), np.int64)
        self._sources = (np.zeros((0, 6), np.int64), np.zeros((0, 6), np.int64))
        self._layout = -1
        self._width = self.levels[0].width
        self._work = np.zeros((len(self.levels), 3), np.int64)  # probes, candidates, found
        self._queues: list[MetaQueue] = []

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes for rows in self._rows)

    def fits(self, queues: MetaQueues, rows: int) -> bool:
        """Whether so many rows may go together: what they make would not be too much."""
        if not self._queues:
            self._queues = [queues.of(branch) for branch in self._branches]
        return self._queues[0].size.cuts(rows) >= rows

    def start_rows(self, rows: int, offered: int, before: int) -> int:
        """How many new tuples to let in at a time, after so many of the offered ones went through."""
        fits = self._queues[0].size.most * offered // rows
        return max(1, min(4 * before, settings.TRAIN_MOST, fits))

    def open_to(self, begin: int) -> int:
        """How far rows may go through from the level `begin` on: up to the first level that is to be looked at alone."""
        for at in range(begin, len(self.levels)):
            phases = self.levels[at].phases
            if phases is not None and not phases.stays_fused:
                return at
        return len(self.levels)

    def run(self, rows: Rows, begin: int, end: int, packet_first: int) -> tuple[Rows, int]:
        """What the levels from `begin` on, up to `end` at most, make of rows, and which level is next; `note_work` counts it."""
        ends, layout = self._ends, 0
        for number, state in enumerate(self._states):
            ends[number, BASE], ends[number, FIRST], ends[number, HEAD] = (
                state.base,
                state.first,
                state.head,
            )
            layout += state.layout
        for level in self.levels:
            layout += level.arranged
        if layout != self._layout:
            self._describe()
            self._layout = layout
        for at in range(begin, end):
            self._numbers[at, MOST] = self._queues[at].size.most_at_once
        while True:
            at, found = extend_through(
                self._numbers, self._sources, ends, packet_first, begin, end,
                rows.count, rows.block, self._width, self._work,
            )  # fmt: skip
            if at < begin:  # the first level alone is too much at once
                return rows, begin
            made: Rows = self._rows[at]
            if found <= made.room:
                break
            made.resize(max(found, 2 * made.room))
            self._describe_rows(at)
            if at > begin:  # go on from what the level before has made
                rows, begin = self._rows[at - 1], at
                rows.count = int(self._work[at - 1, 2])
        made.count = found
        return made, at + 1

    def queue(self, at: int) -> MetaQueue:
        """The queue before a level."""
        return self._queues[at]

    def note_work(self, begin: int, end: int, queues: MetaQueues) -> int:
        """Count what the last run did, as if each level had been taken alone; how many partial combinations were made."""
        partial = 0
        for at, (probes, candidates, found) in enumerate(self._work[begin:end].tolist(), begin):
            if not probes:
                break
            level = self.levels[at]
            level.note_work(probes, candidates, found)
            if level.phases is not None:
                level.phases.passed()
            self.note_train(at, queues, probes, found)
            if at < len(self.levels) - 1:
                partial += found
        return partial

    def note_train(self, at: int, queues: MetaQueues, rows: int, made: int) -> None:
        """So many rows went through a level together."""
        queues.ran(self._queues[at], rows, made)

    def _describe(self) -> None:
        edges: list[tuple[int, ...]] = []
        sources: list[tuple[int, ...]] = []
        for at, level in enumerate(self.levels):
            row = self._numbers[at]
            row[EDGE_FROM], row[SOURCE_FROM] = len(edges), len(sources)
            for edge in level.edges:
                bound = level.bound[edge.place].state
                number = self._state_numbers[id(bound)]
                edges.append((edge.place, *_table(bound.chains.links), number, edge.bound_form))
            for place, column in level.value_sources:
                bound = level.bound[place].state
                number = self._state_numbers[id(bound)]
                sources.append((place, *_table(bound.values), number, column))
            row[EDGE_TO], row[SOURCE_TO] = len(edges), len(sources)
            self._describe_state(row, level)
            self._describe_conditions(row, level)
            self._describe_rows(at)
        self._sources = (
            np.array(edges, np.int64).reshape(-1, 6),
            np.array(sources, np.int64).reshape(-1, 6),
        )

    def _describe_state(self, row: NDArray[np.int64], level: ProbeStep) -> None:
        state, chains = level.target.state, level.target.state.chains
        row[LINKS], row[FORMS], row[CAPACITY] = _table(chains.links)
        row[HEADS], _, row[BUCKETS] = _table(chains.heads)
        row[SHIFT] = chains.shift
        row[TS], row[NEWEST] = address(state.ts), address(state.newest)
        row[LINEAGE] = address(level.target.lineage.values)
        row[VALUES], _, row[VALUE_COLUMNS] = _table(state.values)
        row[STATE] = self._state_numbers[id(state)]
        row[BEFORE_PACKET] = level.before_packet

    def _describe_conditions(self, row: NDArray[np.int64], level: ProbeStep) -> None:
        starts, cuts, sets = level.windows
        codes, columns, theta_starts, parameters, theta_sets, members = level.thetas
        row[TARGET_FORMS] = address(level.target_forms)
        row[LEAST_US] = level.least_us
        row[CUT_STARTS], row[BOUND] = address(starts), len(starts) - 1
        row[CUTS], row[CUT_COUNT] = address(cuts), len(cuts)
        row[WINDOW_SETS], row[SET_COUNT] = address(sets), len(sets)
        row[CODES], row[COLUMNS], row[LISTS] = address(codes), address(columns), len(codes)
        row[STARTS] = address(theta_starts)
        row[PARAMETERS], row[PARAMETER_COUNT] = address(parameters), len(parameters)
        row[THETA_SETS], row[THETA_SET_COUNT] = address(theta_sets), len(theta_sets)
        row[MEMBERS] = address(members)

    def _describe_rows(self, at: int) -> None:
        row, rows = self._numbers[at], self._rows[at]
        row[POSITIONS_OUT], row[TS_OUT] = address(rows.positions), address(rows.ts)
        row[LINEAGE_OUT] = address(rows.lineage)
        row[TIMES], row[ROOM] = len(rows.ts), rows.room


def straight(branches: Sequence[Branch]) -> list[Branch] | None:
    """The branches of a route without forks whose levels all go by key and which one host leaves at the end; None for others."""
    found: list[Branch] = []
    while branches:
        if len(branches) > 1 or branches[0].picked is not None or not branches[0].level.by_key:
            return None
        found.append(branches[0])
        branches = branches[0].children
        if branches and found[-1].exits:
            return None
    return found if found and len(found[-1].exits) == 1 else None


def _states_of(levels: Sequence[ProbeStep]) -> list[SharedState]:
    """The states that the levels touch, each once."""
    inputs = [each for level in levels for each in (*level.bound, level.target)]
    return list({id(each.state): each.state for each in inputs}.values())


def _table(array: NDArray[Any]) -> tuple[int, int, int]:
    """Where an array is, its rows and its columns."""
    return address(array), array.shape[0], array.shape[1]


@njit(cache=True, nogil=True)
def extend_through(levels, sources, ends, packet_first, begin, end, count, rows, width, work):  # type: ignore[no-untyped-def]
    """Take rows through the levels from `begin` up to `end`: (the last level that was taken, the rows it made).

    `sources`: where the keys and where the values of bound tuples are. Before a level that should not get so many rows at once it
    ends, also when only the level's kernel can tell. Rows that do not fit are counted only: then the level has made more than it has
    room for. `work[level]` is probes, candidates and found.

    What one call for all levels is worth, `cqc bench joins --quick` shows in its rows of small packets.
    """
    edges, values = sources
    work[begin:] = 0
    number, found = begin, 0
    for number in range(begin, end):
        level = levels[number]
        if number > begin and count > level[MOST]:
            return number - 1, count
        state = ends[level[STATE]]
        limit = packet_first if level[BEFORE_PACKET] else state[HEAD]
        out = rows_at(level, len(rows[0]) + 1, width)
        found, candidates = extend_by_key(
            count,
            rows,
            equalities_at(level, edges, ends, count, rows[0]),
            target_at(level, state, limit, width),
            level[LEAST_US],
            windows_at(level, width),
            thetas_at(level, values, ends, count, rows[0], width),
            out,
            width,
            MOST_STEPS if count > 2 else NO_LIMIT,
        )
        if found == GAVE_UP:
            return number - 1, count
        if found > level[ROOM]:
            break
        work[number, 0] = count
        work[number, 1] = candidates
        work[number, 2] = found
        if found == 0:
            break
        count, rows = found, out
    return number, found


@njit(cache=True, nogil=True)
def equalities_at(level, edges, ends, count, positions):  # type: ignore[no-untyped-def]
    """The keys of rows and the forms of the target that a level is described with: Equalities."""
    edge_from, edge_to = level[EDGE_FROM], level[EDGE_TO]
    keys = np.empty((edge_to - edge_from, count), np.int64)
    for at in range(edge_from, edge_to):
        edge = edges[at]
        shape = (edge[ARRAY_ROWS], edge[ARRAY_COLUMNS], 2)
        links = carray(pointer(edge[ARRAY]), shape, np.int64)
        gather_keys(
            links, edge[COLUMN], ends[edge[VALUE_STATE], BASE], positions[edge[PLACE]], count, keys[at - edge_from]
        )  # fmt: skip
    return keys, carray(pointer(level[TARGET_FORMS]), (edge_to - edge_from,), np.int64)


@njit(cache=True, nogil=True)
def target_at(level, state, limit, width):  # type: ignore[no-untyped-def]
    """The state that a level meets: a ChainTarget."""
    capacity = level[CAPACITY]
    return (
        carray(pointer(level[HEADS]), (level[FORMS], level[BUCKETS]), np.int64),
        carray(pointer(level[LINKS]), (level[FORMS], capacity, 2), np.int64),
        level[SHIFT], state[BASE], state[FIRST], limit,
        carray(pointer(level[TS]), (capacity,), np.int64),
        carray(pointer(level[NEWEST]), (capacity,), np.int64),
        carray(pointer(level[LINEAGE]), (capacity, len(width)), np.uint64),
        carray(pointer(level[VALUES]), (capacity, level[VALUE_COLUMNS]), np.float64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def windows_at(level, width):  # type: ignore[no-untyped-def]
    """The Windows of a level."""
    return (
        carray(pointer(level[CUT_STARTS]), (level[BOUND] + 1,), np.int64),
        carray(pointer(level[CUTS]), (level[CUT_COUNT],), np.int64),
        carray(pointer(level[WINDOW_SETS]), (level[SET_COUNT], len(width)), np.uint64),
    )


@njit(cache=True, nogil=True)
def thetas_at(level, values, ends, count, positions, width):  # type: ignore[no-untyped-def]
    """The Thetas of a level, with the values of rows."""
    source_from, source_to, lists = level[SOURCE_FROM], level[SOURCE_TO], level[LISTS]
    probing = np.empty((source_to - source_from, count), np.float64)
    for at in range(source_from, source_to):
        source = values[at]
        size = (source[ARRAY_ROWS], source[ARRAY_COLUMNS])
        gather_values(
            carray(pointer(source[ARRAY]), size, np.float64), source[COLUMN : COLUMN + 1],
            ends[source[VALUE_STATE], BASE], positions[source[PLACE]], count, probing, at - source_from,
        )  # fmt: skip
    return (
        carray(pointer(level[CODES]), (lists,), np.int64),
        carray(pointer(level[COLUMNS]), (lists,), np.int64),
        carray(pointer(level[STARTS]), (lists + 1,), np.int64),
        carray(pointer(level[PARAMETERS]), (level[PARAMETER_COUNT], 4), np.float64),
        carray(pointer(level[THETA_SETS]), (level[THETA_SET_COUNT], len(width)), np.uint64),
        carray(pointer(level[MEMBERS]), (lists, len(width)), np.uint64),
        probing,
    )


@njit(cache=True, nogil=True)
def rows_at(level, places, width):  # type: ignore[no-untyped-def]
    """Where the rows of a level go: a RowBlock."""
    room = level[ROOM]
    return (
        carray(pointer(level[POSITIONS_OUT]), (places, room), np.int64),
        carray(pointer(level[TS_OUT]), (level[TIMES], room), np.int64),
        carray(pointer(level[LINEAGE_OUT]), (room, len(width)), np.uint64),
    )


def warm() -> None:
    """Compile this module's kernel, for a lineage of one word."""
    nothing = np.zeros((0, _NUMBERS), np.int64)
    values, rows = np.zeros((0, 6), np.int64), np.zeros((1, 1), np.int64)
    extend_through(
        nothing, (values, values), np.zeros((0, 3), np.int64), 0, 0, 0,
        0, (rows, rows, np.zeros((1, 1), np.uint64)), (0,), np.zeros((0, 3), np.int64),
    )  # fmt: skip
