"""When periodic queries are due."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cqc.compiler.meaning.bound import Instant
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.event_time import StreamClock
from cqc.runtime.pull.every_schedule import Period, Schedule
from cqc.runtime.pull.pull_window import last_edge
from tests.support.relations import relation

NOW = Instant(from_now=True, offset_us=0, exclusive=False)


@dataclass
class Line:
    """As much of a stream's line as a schedule looks at."""

    clock: StreamClock = field(
        default_factory=lambda: StreamClock(relation({"ts": T.TIMESTAMP}, delay_us=2))
    )

    @property
    def first_us(self) -> int | None:
        return self.clock.first_us

    @property
    def latest_us(self) -> int | None:
        return self.clock.largest_us

    def see(self, *times_us: int) -> None:
        self.clock.admit(np.array(times_us))


def due(schedule: Schedule) -> list[tuple[str, int, int]]:
    return [(each.name, each.first_us, each.last_us) for each in schedule.due()]


def scheduled(
    every_us: int, end: Instant = NOW, kept_from_us: int | None = None
) -> tuple[Schedule, Any]:
    schedule, line = Schedule(), Line()
    lines: dict[str, Any] = {"s": line}
    schedule.add("q", Period(every_us, last_edge(end), kept_from_us), lines)
    return schedule, line


def test_an_instant_is_due_when_the_watermark_is_greater() -> None:
    schedule, line = scheduled(10)
    line.see(17)
    assert due(schedule) == []
    line.see(22)  # the watermark is 20
    assert due(schedule) == []
    line.see(33)
    assert due(schedule) == [("q", 20, 30)]
    assert due(schedule) == []


def test_the_first_instant_is_at_or_after_the_first_event_time() -> None:
    schedule, line = scheduled(10)
    line.see(20, 18)
    line.see(23)
    assert due(schedule) == [("q", 20, 20)]


def test_the_end_of_the_input_makes_instants_up_to_the_last_event_time_due() -> None:
    schedule, line = scheduled(10)
    line.see(17, 40)
    line.clock.end_input()
    assert due(schedule) == [("q", 20, 40)]
    assert due(schedule) == []


def test_nothing_seen_makes_nothing_due() -> None:
    schedule, line = scheduled(10)
    line.clock.end_input()
    assert due(schedule) == []


def test_a_window_that_ends_later_waits_for_its_end() -> None:
    schedule, line = scheduled(10, Instant(from_now=True, offset_us=5, exclusive=False))
    line.see(10, 17)  # the watermark is 15
    assert due(schedule) == []
    line.see(18)
    assert due(schedule) == [("q", 10, 10)]
    fixed, line = scheduled(10, Instant(from_now=False, offset_us=35, exclusive=True))
    line.see(10, 36)
    assert due(fixed) == []
    line.see(37)
    assert due(fixed) == [("q", 10, 30)]


def test_a_late_query_begins_where_history_does() -> None:
    schedule, line = scheduled(10, kept_from_us=41)
    line.see(17, 80)
    assert due(schedule) == [("q", 50, 70)]


def test_a_schedule_resumes_where_it_was() -> None:
    schedule, line = scheduled(10)
    line.see(17, 45)
    due(schedule)
    again, line = scheduled(10)
    line.see(44, 45)
    again.resume(schedule.next_instants())
    assert again.next_instants() == {"q": 50}
    line.see(63)
    assert due(again) == [("q", 50, 60)]


def test_purging_knows_the_earliest_instant_to_come() -> None:
    schedule, line = scheduled(10)
    lines: dict[str, Any] = {"s": line}
    schedule.add("r", Period(7, last_edge(NOW), None), lines)
    line.see(17, 45)
    due(schedule)
    assert schedule.oldest_due_us(("s",)) == 49
    assert schedule.oldest_due_us(("other",)) is None
    schedule.remove("r")
    assert schedule.oldest_due_us(("s",)) == 50
