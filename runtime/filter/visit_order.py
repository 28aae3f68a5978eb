"""In which order a packet visits the filters of its stream (CACQ's eddy, decided per packet).

The order matters because a gate (`stations`) keeps out of a filter the tuples that every query with a condition
there has lost already: the most selective, the cheapest and those that serve many queries come first.

- `selectivity`: now and then a few tuples visit every filter, and an order is worked out on them: always the filter next
  that saves most of the others' work for its own. Filters whose gates save nothing are visited without asking. The samples
  become rare while nothing changes, and come at once when a gate lets in much more or less than it was expected to.
- `lottery`: a filter earns a ticket for each of its predicates and tuple that it takes, and pays it back for tuples that
  it returns, that is, which some of its queries still want. Drawn for every packet.
- `fixed`: by column. `random`: any order.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from random import Random
from time import thread_time
from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.adapt import settings
from cqc.runtime.adapt.decision import Decision, counted
from cqc.runtime.adapt.measured_cost import MeasuredCost
from cqc.runtime.adapt.pause import Pause
from cqc.runtime.adapt.routing import Lottery, policy_of
from cqc.runtime.filter.stations import MOST_STATIONS, Stations
from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import BLOCK, popcount

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.filter.packet_index import PacketIndex
    from cqc.runtime.filter.stations import Gate, Sampled, Station


def _first_cost() -> MeasuredCost:
    rule = settings.VISITS
    return MeasuredCost(settings.VISITS_FIRST_S, rule.newest, rule.spike, settings.VISITS_LEAST_S)


@dataclass(slots=True)
class Visits:
    """What happened at a station so far."""

    packets: int = 0  # that visited it
    skipped: int = 0  # that had no tuple for it
    tuples: int = 0
    returned: int = 0  # tuples that some of its queries still wanted, where that was counted
    # Seconds a tuple that has a value, lately: NULL costs nearly nothing.
    cost: MeasuredCost = field(default_factory=_first_cost)
    present: float = 1.0  # of all tuples, the share that has a value, lately
    place: int = 0  # in the order, lately

    @property
    def is_timed(self) -> bool:
        """Whether the clock is read at the next visit."""
        packets = self.packets
        return packets < settings.VISITS_ALWAYS_TIMED or packets % settings.VISITS_TIMED == 0

    def foreseen(self, tuples: float, share: float = 1.0) -> float:
        """Seconds that a visit of a share of so many tuples should take."""
        present = tuples * min(share, self.present)
        return self.cost.each * (present + settings.VISITS_FIXED)

    def took(self, tuples: int, present: int, seconds: float, *, picked: bool) -> None:
        """Take note of what a visit cost, of all tuples of a packet or of some that were picked out."""
        if not picked and tuples:
            self.present = present / tuples
        if tuples >= settings.VISITS.enough:
            seconds -= tuples * settings.VISITS_PICKED_S if picked else 0.0
            self.cost.saw(seconds / (present + settings.VISITS_FIXED))


@dataclass(slots=True)
class Step:
    """A station in an order: whether to ask its gate, and which share of the tuples should come in."""

    station: int
    gated: bool
    share: float


@dataclass(slots=True)
class _Plan:
    """What `selectivity` worked out."""

    steps: list[Step] = field(default_factory=list)
    cost: float = 0.0  # seconds a tuple, as expected
    open_cost: float = 0.0  # and of visiting everything
    pause: Pause = field(default_factory=lambda: _pause())
    since: int = field(
        default_factory=lambda: settings.VISITS.stretch
    )  # tuples since it was worked out


def _pause() -> Pause:
    return Pause(settings.VISITS.stretch, settings.VISITS.longest)


class FilterRoute:
    """Takes the packets of one stream through its filters."""

    def __init__(self, routing: str, clock: Callable[[], float] = thread_time) -> None:
        self.routing = routing
        self._clock = clock
        self._policy = policy_of(routing, 0)
        self._stations: Stations | None = None
        self._unasked: list[Step] = []  # every station, in any order
        self._visits: dict[Hashable, Visits] = {}
        self._plan = _Plan()
        self._sampled: Sampled | None = None
        self._random = Random(17)  # any number; a run can be repeated
        self._sample_s = 0.0
        # Seconds a block that a gate takes beside its rows: the hits of what was visited have to be set.
        self._gate_hits = MeasuredCost(0.0, settings.VISITS.newest, inf)
        self.samples = 0
        self.changes = 0  # samples that said something else than the one before

    def settle(self, stations: Stations | None) -> None:
        """The queries changed: other stations from now on (None: nothing to choose)."""
        few = stations is not None and 1 < len(stations) <= MOST_STATIONS
        self._stations = stations if few else None
        self._unasked = [Step(at, False, 1.0) for at in range(len(stations) if stations else 0)]
        self._sampled = None
        self._plan = _Plan()

    @property
    def chooses(self) -> bool:
        """Whether there is an order to choose."""
        return self._stations is not None

    def wants_sample(self, tuples: int) -> bool:
        """Whether to work the order out anew before a packet of so many tuples."""
        if self.routing != "selectivity" or self._stations is None:
            return False
        self._plan.since += tuples
        if self._plan.since < self._plan.pause.length or tuples < 16:
            return False
        blocks = (tuples + BLOCK - 1) // BLOCK
        # Where one gate would cost more than all visits there is nothing to win.
        return self._open_cost(tuples) > blocks * self._stations.queries * settings.VISITS_ROW_S / 4

    def sample_rows(self, tuples: int) -> NDArray[np.int64]:
        """Which tuples of a packet to look at: enough to tell, few beside the packet."""
        wanted = max(16, min(settings.VISITS_SAMPLE_TUPLES, tuples // 16))
        return np.arange(0, tuples, max(1, tuples // wanted), dtype=np.int64)[
            : settings.VISITS_SAMPLE_TUPLES
        ]

    def taste(self, index: PacketIndex) -> None:
        """Take a sample through every station; tells what one costs where nothing is known yet."""
        stations = self._stations
        assert stations is not None
        begun = self._clock()
        for station in stations.all:
            known = self._of(station)
            started = 0.0 if known.packets else self._clock()
            present = self._go(index, station, None)
            if len(index):
                known.present = present / len(index)
            if not known.packets:
                seconds = self._clock() - started - settings.VISITS_GATE_S
                each = seconds / (present + settings.VISITS_FIXED)
                known.cost.each = max(settings.VISITS_FIRST_S, each)
        self._sample_s = self._clock() - begun

    def learn_from(self, index: PacketIndex, tuples: int) -> None:
        """Work out the order on some tuples that visited every station, for packets of so many."""
        stations = self._stations
        assert stations is not None
        self.samples += 1
        if self._sampled is None:
            chosen = np.arange(stations.queries)
            if len(chosen) > settings.VISITS_SAMPLE_QUERIES:
                few = self._random.sample(range(len(chosen)), settings.VISITS_SAMPLE_QUERIES)
                chosen = np.sort(np.array(few))
            self._sampled = stations.sample(chosen)
        known = self._sampled
        begun = self._clock()
        rows = index.rows_of(known.conjunctions, known.rows)
        if not self._gate_hits.measured:  # a gate knows half of the hits on the average
            self._gate_hits.each = (self._clock() - begun) / 2
        costs = np.array([self._of(each).foreseen(tuples) / tuples for each in stations.all])
        order, shares = greedy_order(
            rows, known.query_of, known.station_of, known.needs, costs, len(index)
        )
        steps, cost = self._steps(order.tolist(), shares.tolist(), tuples)
        before = self._plan
        same = [step.station for step in steps] == [step.station for step in before.steps]
        # Filters that are alike change places from sample to sample: that is no change.
        alike = abs(cost - before.cost) < settings.VISITS_ALIKE * before.cost
        pause = before.pause
        if same or (bool(steps) and alike):
            pause.longer()
        else:
            pause.shortest()
            self.changes += self.samples > 1
        open_cost = self._open_cost(tuples) / tuples
        self._sample_s += self._clock() - begun
        if self.samples > 1:  # a sample is paid for before the next one
            spent = max(cost or open_cost, settings.VISITS_LEAST_S)
            paid = int(self._sample_s / (settings.VISITS.budget * spent))
            pause.length = min(max(pause.length, paid), settings.VISITS.longest)
        self._plan = _Plan(steps, cost, open_cost, pause, 0)

    def decision(self, about: str, names: Sequence[str]) -> Decision | None:
        """In which order the filters of these names are visited; None where there is nothing to choose or to tell."""
        plan, stations = self._plan, self._stations
        if stations is None or not self.samples or self.routing != "selectivity":
            return None
        note = f"{counted(self.samples, 'sample')}, {counted(self.changes, 'change')}"
        if not plan.steps:
            return Decision(about, "visits every filter, without asking who needs it", note=note)
        order = ", then ".join(names[step.station] for step in plan.steps)
        ratio = plan.cost / max(plan.open_cost, 1e-12)
        return Decision(about, f"visits {order}", "visiting everything", ratio, note=note)

    def route(self, index: PacketIndex) -> None:
        """Take a packet through all stations."""
        stations = self._stations
        assert stations is not None
        steps = self._plan.steps if self.routing == "selectivity" else self._drawn()
        visited = 0
        for place, step in enumerate(steps or self._unasked):
            station, seen = stations.all[step.station], None
            known = self._of(station)
            known.place = place
            if visited and step.gated:
                seen = self._let_in(index, stations.gate(step.station, visited), step)
            if seen is not None and not len(seen):
                known.skipped += 1
            else:
                self._visit(index, station, known, seen)
            visited |= 1 << step.station
            if isinstance(self._policy, Lottery):
                self._pay(index, step.station, visited, seen)

    def measure(self) -> list[tuple[Station, Visits, float]]:
        """Every station with what happened there and its tickets."""
        tickets = self._policy.tickets if isinstance(self._policy, Lottery) else {}
        stations = self._stations
        return [
            (each, self._of(each), tickets.get(number, 0.0))
            for number, each in enumerate(stations.all if stations is not None else ())
        ]

    def _visit(
        self, index: PacketIndex, station: Station, known: Visits, rows: NDArray[np.int64] | None
    ) -> None:
        count = len(index) if rows is None else len(rows)
        if known.is_timed:
            started = self._clock()
            present = self._go(index, station, rows)
            known.took(count, present, self._clock() - started, picked=rows is not None)
        else:
            self._go(index, station, rows)
        known.packets += 1
        known.tuples += count

    def _go(self, index: PacketIndex, station: Station, rows: NDArray[np.int64] | None) -> int:
        """Visit a station; returns how many tuples have a value there."""
        if station.mask >= 0:
            index.visit_mask(station.mask, rows)
            return len(index) if rows is None else len(rows)
        return index.visit_column(station.at, rows)

    def _let_in(self, index: PacketIndex, gate: Gate, step: Step) -> NDArray[np.int64] | None:
        """The tuples that must visit a station; None: all of them."""
        tuples = len(index)
        if gate.is_open or gate.work > settings.VISITS_MOST_WORK:
            return None
        started = self._clock()
        inside = index.union_so_far(gate.located, gate.conjunctions)
        blocks = (tuples + BLOCK - 1) // BLOCK
        foreseen = settings.VISITS_GATE_S + blocks * _gate_block_s(gate)
        self._gate_hits.saw((self._clock() - started - foreseen) / blocks)
        share = np.count_nonzero(inside) / tuples
        surprise = abs(share - step.share) > settings.VISITS_SURPRISE
        if surprise and self.routing == "selectivity":
            self._plan.pause.shortest()
            self._plan.since = self._plan.pause.length
        return np.flatnonzero(inside) if share < settings.VISITS_OPEN_SHARE else None

    def _pay(
        self, index: PacketIndex, station: int, visited: int, seen: NDArray[np.int64] | None
    ) -> None:
        """Tickets for what a station took and returned."""
        stations = self._stations
        assert stations is not None
        gate = stations.gate(station, visited)
        taken = len(index) if seen is None else len(seen)
        inside = taken
        if not gate.is_open and taken:
            inside = int(np.count_nonzero(index.union_so_far(gate.located, gate.conjunctions)))
        self._of(stations.all[station]).returned += inside
        weight = stations.predicates[station]
        self._policy.learn(station, weight * taken, weight * inside)

    def _drawn(self) -> list[Step]:
        assert self._stations is not None
        ready = list(range(len(self._stations)))
        steps = []
        while ready:
            station = self._policy.draw(ready)
            ready.remove(station)
            steps.append(Step(station, True, 0.0))
        return steps

    def _steps(
        self, order: Sequence[int], shares: Sequence[float], tuples: int
    ) -> tuple[list[Step], float]:
        """The order with the gates that pay, and its cost a tuple; no gates at all where they save little."""
        assert self._stations is not None
        steps, visited, cost = [], 0, 0.0
        blocks = (tuples + BLOCK - 1) // BLOCK
        for station, share in zip(order, shares, strict=True):
            known = self._of(self._stations.all[station])
            whole = known.foreseen(tuples)
            picked = (
                settings.VISITS_GATE_S
                + blocks * (settings.VISITS_BLOCK_S + self._gate_hits.each)
                + known.foreseen(tuples, share)
                + tuples * share * settings.VISITS_PICKED_S
            )
            if visited and picked < whole:
                gate = self._stations.gate(station, visited)
                picked += blocks * (_gate_block_s(gate) - settings.VISITS_BLOCK_S)
            gated = bool(visited) and picked < whole
            steps.append(Step(station, gated, share))
            cost += min(picked, whole) if gated else whole
            visited |= 1 << station
        is_worth_it = cost < settings.VISITS.clearly * self._open_cost(tuples)
        return (steps, cost / tuples) if is_worth_it else ([], 0.0)

    def _open_cost(self, tuples: int) -> float:
        assert self._stations is not None
        return sum(self._of(each).foreseen(tuples) for each in self._stations.all)

    def _of(self, station: Station) -> Visits:
        key = station.column if station.mask < 0 else ("mask", station.mask)
        known = self._visits.get(key)
        if known is None:
            known = self._visits[key] = Visits()
        return known


def _gate_block_s(gate: Gate) -> float:
    """What a gate should cost for a block of tuples."""
    return settings.VISITS_BLOCK_S + gate.work * settings.VISITS_ROW_S


@njit(cache=True, nogil=True)
def greedy_order(rows, query_of, station_of, needs, costs, tuples):  # type: ignore[no-untyped-def]
    """An order of the stations and the share of the tuples that each would see.

    `rows[r]` are the tuples for which query_of[r] holds as far as station_of[r] is asked; `needs` are the stations of
    each query. Next is always the station that saves most of the others' cost for its own.
    """
    stations, queries, words = len(costs), len(needs), rows.shape[1]
    passes = np.full((stations, queries, words), ~np.uint64(0))
    for row in range(len(rows)):
        for word in range(words):
            passes[station_of[row], query_of[row], word] &= rows[row, word]
    alive = np.zeros((queries, words), np.uint64)
    for at in range(tuples):
        alive[:, at >> 6] |= np.uint64(1) << np.uint64(at & 63)
    order, shares = np.empty(stations, np.int64), np.empty(stations, np.float64)
    ready = np.ones(stations, np.bool_)
    now, then = np.zeros(stations), np.zeros(stations)
    for place in range(stations):
        _let_in(alive, alive, needs, ready, now)
        best, best_score = -1, -1.0
        for station in range(stations):
            if not ready[station]:
                continue
            _let_in(alive, passes[station], needs, ready, then)
            saved = 0.0
            for other in range(stations):
                if ready[other] and other != station:
                    saved += costs[other] * (now[other] - then[other])
            score = saved / (costs[station] * (now[station] + 1.0))
            if score > best_score:
                best, best_score = station, score
        order[place], shares[place] = best, now[best] / max(tuples, 1)
        ready[best] = False
        alive &= passes[best]
    return order, shares


@njit(cache=True, nogil=True)
def _let_in(alive, passes, needs, ready, counts):  # type: ignore[no-untyped-def]
    """How many tuples the gate of each ready station lets in, when what is alive also passes."""
    for station in range(len(counts)):
        counts[station] = 0.0
        if not ready[station]:
            continue
        for word in range(alive.shape[1]):
            united = np.uint64(0)
            for query in range(len(needs)):
                if needs[query] >> np.uint64(station) & np.uint64(1):
                    united |= alive[query, word] & passes[query, word]
            counts[station] += popcount(united)


def warm() -> None:
    """Compile this module's kernels."""
    numbers = np.zeros(1, np.int64)
    greedy_order(
        np.zeros((1, 1), np.uint64), numbers, numbers, np.ones(1, np.uint64), np.ones(1), 1
    )
