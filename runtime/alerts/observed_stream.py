"""The observations of one stream or view that wait to be decided, and the alerts that look at them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.alerts.alert_group import AlertGroup, Batch
from cqc.runtime.alerts.alert_kernels import by_row
from cqc.runtime.alerts.alert_plan import TERMS, Clears
from cqc.runtime.columns.columns import null_column
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.bound import Expression
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.alerts.alert_group import Told
    from cqc.runtime.alerts.alert_plan import AlertPlan
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.lineage.matches import Found


@dataclass(slots=True, eq=False)
class Waiting:
    """Observations of one packet, and pairs of a row and an alert for which it is bad."""

    rows: Rows
    arrivals: NDArray[np.int64]
    bad_rows: NDArray[np.int64]
    bad_alerts: NDArray[np.int64]
    first_us: int = field(init=False)
    last_us: int = field(init=False)

    def __post_init__(self) -> None:
        ts_us = self.rows.ts_us
        self.first_us = int(ts_us.min()) if len(ts_us) else ALL_SEEN
        self.last_us = int(ts_us.max()) if len(ts_us) else NOTHING_SEEN

    def parted(self, watermark_us: int, *, of_view: bool) -> tuple[Waiting | None, Waiting | None]:
        """Those that a watermark decides, and those that go on waiting; None for none."""
        before_us = watermark_us if of_view or watermark_us == ALL_SEEN else watermark_us + 1
        if self.last_us < before_us or watermark_us == ALL_SEEN:
            return self, None
        if self.first_us >= before_us:
            return None, self
        ready = self.rows.ts_us < before_us
        return self.take(np.flatnonzero(ready)), self.take(np.flatnonzero(~ready))

    @staticmethod
    def joined(parts: Sequence[Waiting]) -> Waiting:
        """One after the other."""
        if len(parts) == 1:
            return parts[0]
        before = np.cumsum([0, *(len(part.rows) for part in parts[:-1])]).tolist()
        return Waiting(
            Rows.joined([part.rows for part in parts]),
            np.concatenate([part.arrivals for part in parts]),
            np.concatenate([part.bad_rows + n for part, n in zip(parts, before, strict=True)]),
            np.concatenate([part.bad_alerts for part in parts]),
        )

    def take(self, rows: NDArray[np.int64]) -> Waiting:
        """Some of the observations, in another order maybe."""
        place = np.full(len(self.rows), -1, np.int64)
        place[rows] = np.arange(len(rows))
        moved = place[self.bad_rows]
        kept = moved >= 0
        return Waiting(
            self.rows.take(rows), self.arrivals[rows], moved[kept], self.bad_alerts[kept]
        )


class ObservedStream:
    """All alerts over one stream; `of_view` says how observations of the same event time are ordered."""

    def __init__(self, *, of_view: bool) -> None:
        self.of_view = of_view
        self.plans: dict[int, AlertPlan] = {}
        self.groups: dict[tuple[Expression, ...], AlertGroup] = {}
        self.clears = Clears()
        self.terms = np.zeros((1, TERMS), np.int64)
        self.columns: dict[int, ColumnType] = {}
        self.waiting: list[Waiting] = []
        self._next_us = ALL_SEEN
        self.seen_us = NOTHING_SEEN  # the latest observation that was decided
        self._seats: dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]] | None = None

    # Alerts come and go

    def free_number(self) -> int:
        """A number that no alert has."""
        return next(at for at in range(len(self.plans) + 1) if at not in self.plans)

    def add(self, plan: AlertPlan) -> None:
        """Let an alert see what comes from now on."""
        wanted = plan.columns_needed()
        if not wanted.keys() <= self.columns.keys():
            self._widen({**self.columns, **wanted})
        if plan.number >= len(self.terms):
            grown = np.zeros((2 * plan.number + 1, TERMS), np.int64)
            grown[: len(self.terms)] = self.terms
            self.terms = grown
        self.terms[plan.number] = plan.terms()
        self.plans[plan.number] = plan
        self._seats = None
        self.clears.forget_owners()
        if plan.keys not in self.groups:
            self.groups[plan.keys] = AlertGroup(plan.keys, self.columns, of_view=self.of_view)

    def remove(self, plan: AlertPlan, watermark_us: int) -> Told | None:
        """An alert leaves; what is resolved by that."""
        if watermark_us == ALL_SEEN:
            watermark_us = self.seen_us
        found = self.groups[plan.keys].resolve(plan.number, watermark_us)
        del self.plans[plan.number]
        self._seats = None
        self.clears.forget_owners()
        for part in self.waiting:
            kept = part.bad_alerts != plan.number
            part.bad_rows, part.bad_alerts = part.bad_rows[kept], part.bad_alerts[kept]
        return found

    def stand_since(self, plan: AlertPlan, since: int) -> None:
        """An alert was there already when so many observations had come."""
        plan.since = since
        self.terms[plan.number] = plan.terms()

    def drop_group(self, plan: AlertPlan) -> None:
        """Forget the keys of an alert that has left, if nobody else has them."""
        if not any(other.keys == plan.keys for other in self.plans.values()):
            del self.groups[plan.keys]

    def _widen(self, columns: dict[int, ColumnType]) -> None:
        """Keep more columns of an observation; those before the alert that needs them are no observations of it."""

        def widened(had: Mapping[int, ColumnType], rows: Rows) -> Rows:
            own = dict(zip(had, rows.columns, strict=True))
            wide = [
                own[number] if number in own else null_column(type_, len(rows))
                for number, type_ in columns.items()
            ]
            return replace_columns(rows, wide)

        for part in self.waiting:
            part.rows = widened(self.columns, part.rows)
        for group in self.groups.values():
            group.widen(columns, widened)
        self.columns = columns

    # Observations

    def observe(self, packet: Packet, found: Sequence[Found]) -> None:
        """Take a packet, and for whom its tuples are bad."""
        if self._seats is None:
            self._seats = self._slots()
        rows, alerts = [], []
        for each in found:
            if each.source not in self._seats:
                continue
            slots, numbers = self._seats[each.source]
            for own_rows, own_alerts in _pairs(each, slots, numbers):
                rows.append(own_rows)
                alerts.append(own_alerts)
        columns = tuple(packet.columns[number] for number in self.columns)
        nothing = np.zeros(0, np.int64)
        self.waiting.append(
            Waiting(
                Rows(packet.ts_us, packet.ts_us, columns),
                packet.arrival,
                np.concatenate(rows) if rows else nothing,
                np.concatenate(alerts) if alerts else nothing,
            )
        )
        self._next_us = min(self._next_us, self.waiting[-1].first_us)

    def _slots(self) -> dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each operator the slots of alerts there, ascending, and which alert each is of."""
        found: dict[Any, list[tuple[int, int]]] = {}
        for plan in self.plans.values():
            found.setdefault(plan.seat.source, []).append((plan.seat.key, plan.number))
        return {
            source: tuple(np.array(sorted(pairs), np.int64).T.copy())
            for source, pairs in found.items()
        }

    def decide(self, watermark_us: int) -> Iterator[tuple[AlertGroup, Told]]:
        """What is to be told now."""
        batch = self._decided(watermark_us)
        for group in self.groups.values():
            if batch is not None:
                own = self._own(group, batch)
                told = group.take(own, self.plans, self.terms, self.clears)
                if told is not None:
                    yield group, told
            silent = group.silent(watermark_us, self.terms)
            if silent is not None:
                yield group, silent
            now_us = self.seen_us if watermark_us == ALL_SEEN else watermark_us
            group.forget(now_us, self.terms)

    def _decided(self, watermark_us: int) -> Waiting | None:
        """The observations that are decided now, in their order."""
        if not self.waiting or watermark_us < self._next_us:
            return None
        decided: list[Waiting] = []
        left: list[Waiting] = []
        for part in self.waiting:  # most are decided whole, or not at all
            ready, rest = part.parted(watermark_us, of_view=self.of_view)
            decided += [ready] if ready is not None else []
            left += [rest] if rest is not None else []
        self.waiting = left
        self._next_us = min((part.first_us for part in left), default=ALL_SEEN)
        if not decided:
            return None
        every = Waiting.joined(decided)
        ts_us = every.rows.ts_us
        if not (ts_us[1:] >= ts_us[:-1]).all():
            every = every.take(np.argsort(ts_us, kind="stable"))
        self.seen_us = max(self.seen_us, int(every.rows.ts_us[-1]))
        return every

    def _own(self, group: AlertGroup, decided: Waiting) -> Batch:
        """The observations with the alerts of one group for which they are bad."""
        rows, alerts = decided.bad_rows, decided.bad_alerts
        if len(self.groups) > 1:
            own = np.zeros(len(self.terms), np.bool_)
            own[[plan.number for plan in self.plans.values() if plan.keys == group.keys]] = True
            chosen = own[alerts]
            rows, alerts = rows[chosen], alerts[chosen]
        ends, ordered = by_row(rows, alerts, len(decided.rows), len(self.terms))
        return Batch(decided.rows, decided.arrivals, ends, ordered)

    def load_waiting(self, waiting: Waiting) -> None:
        """Go on with observations that waited elsewhere."""
        if len(waiting.rows):
            self.waiting.append(waiting)
            self._next_us = min(self._next_us, waiting.first_us)

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL."""
        return self.clears.failures + sum(group.failures for group in self.groups.values())

    @property
    def nbytes(self) -> int:
        """What is held."""
        waiting = sum(part.rows.nbytes for part in self.waiting)
        return waiting + sum(group.nbytes for group in self.groups.values())


def replace_columns(rows: Rows, columns: Sequence[Any]) -> Rows:
    """The same rows with other columns."""
    return replace(rows, columns=tuple(columns))


def _pairs(
    found: Found, slots: NDArray[np.int64], alerts: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Rows with the alerts that sit at the slots which want them; alerts that ask the same share a slot."""
    while len(slots):
        first = np.concatenate(([True], slots[1:] != slots[:-1]))
        own_slots, own_alerts = slots[first], alerts[first]
        matches = found.matches(own_slots)
        if len(matches.rows):
            numbers = own_alerts[np.searchsorted(own_slots, matches.keys)]
            yield matches.rows, np.repeat(numbers, matches.counts)
        slots, alerts = slots[~first], alerts[~first]
