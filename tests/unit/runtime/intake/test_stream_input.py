"""One stream on its way in: numbered, late rows taken out, everything counted, and where it stands put down."""

from __future__ import annotations

import cqc
from cqc.runtime.columns.event_time import ALL_SEEN
from cqc.runtime.intake.stream_input import StreamInput, StreamState

DECLARED = "CREATE STREAM s (ts BIGINT, x BIGINT);"
SECOND = 1_000_000


def line(settings: str = "") -> StreamInput:
    catalog = cqc.compile(settings + DECLARED).catalog
    return StreamInput(catalog.relations["s"], None, lambda: 0.0, catalog.settings.max_ahead_us)


def accept(given: StreamInput, *seconds: int) -> list[int]:
    """The arrival numbers of the rows that are taken."""
    rows = [{"ts": second, "x": 1} for second in seconds]
    return given.accept(given.take(rows)).arrival.tolist()


def test_rows_are_numbered_as_they_arrive_and_late_ones_are_counted() -> None:
    given, late = line(), []
    given.on_late = lambda relation, packet: late.append(packet.ts_us.tolist())
    assert accept(given, 5, 3) == [0, 1]
    assert accept(given, 4, 6) == [3]
    assert (given.count.read, given.count.late, given.arrivals) == (4, 1, 4)
    assert late == [[4 * SECOND]]
    assert (given.first_us, given.latest_us) == (3 * SECOND, 6 * SECOND)


def test_rejected_rows_are_counted_with_their_reason() -> None:
    given = line()
    given.accept(given.take([{"ts": 1, "x": "one"}, {"ts": None, "x": 2}]))
    assert given.count.rejected == given.count.reasons.total() == 2


def test_another_stands_where_this_one_stood() -> None:
    given, other = line("SET MAX_AHEAD = 10 SECONDS;"), line("SET MAX_AHEAD = 10 SECONDS;")
    accept(given, 1, 2)
    accept(given, 100)
    state = given.state(0)
    assert (state.read, state.arrivals, given.count.waiting) == (3, 2, 1)
    other.restore(state)
    assert other.state(0) == state
    assert other.count.waiting == 1
    assert accept(other, 3) == [2]


def test_rows_that_waited_are_rejected_where_nothing_is_set_aside_any_more() -> None:
    given, other = line("SET MAX_AHEAD = 10 SECONDS;"), line()
    accept(given, 1)
    accept(given, 100)
    other.restore(given.state(0))
    assert other.count.rejected == 1
    assert "MAX_AHEAD is no longer set" in next(iter(other.count.reasons))


def test_the_end_of_the_input_is_a_watermark_only_until_more_is_found() -> None:
    given = line()
    accept(given, 5)
    given.end_input()
    assert given.watermark_us == ALL_SEEN
    assert given.state(after_end_us=5 * SECOND).watermark_us == 5 * SECOND


def test_who_counts_elsewhere_starts_over_with_a_watermark() -> None:
    given = line()
    accept(given, 5)
    given.start_over(7 * SECOND)
    assert accept(given, 6, 8) == [2]
    assert (given.count.read, given.count.late, given.first_us) == (2, 1, 8 * SECOND)


def test_rows_say_how_far_the_stream_will_be() -> None:
    given = line()
    assert given.span_us(given.take([])) is None
    accept(given, 5)
    assert given.span_us(given.take([{"ts": 9, "x": 1}])) == (5 * SECOND, 9 * SECOND)
    assert StreamState().read == 0
