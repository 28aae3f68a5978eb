"""Ranges are planned, carried and read; one bad file takes no other with it where that is wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.run.range_feed import RangeFeed, read_ranges
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from cqc.runtime.run.driver import MicroBatch

RELATIONS = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT);").catalog.relations


@pytest.fixture
def ranges(tmp_path: Path) -> list[Range]:
    (tmp_path / "1.csv").write_text("ts,x\n1,1\n2,2\n")
    (tmp_path / "2.csv").write_text("ts,y\n3,3\n")
    (tmp_path / "3.csv").write_text("ts,x\n4,4\n")
    return [Range("s", str(tmp_path / f"{at}.csv"), "csv", 0, None) for at in (1, 2, 3)]


class Source:
    """Hands out ranges once."""

    def __init__(self, ranges: list[Range]) -> None:
        self._ranges = ranges

    def next_ranges(self) -> list[Range]:
        ranges, self._ranges = self._ranges, []
        return ranges

    def read(self, ranges: Sequence[Range]) -> MicroBatch:
        return read_ranges(RELATIONS, ranges)

    def awaits_more(self) -> bool:
        return bool(self._ranges)


class Carrier:
    """Gives ranges back in another order, or none when it was stopped."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.stopped = False

    def deliver(self, ranges: list[Range]) -> list[Range]:
        self.asked.append(len(ranges))
        return [] if self.stopped else ranges[::-1]

    def stop(self) -> None:
        self.stopped = True

    def close(self) -> None: ...


def test_ranges_are_read_as_one_micro_batch(ranges: list[Range]) -> None:
    del ranges[1]
    feed = RangeFeed(Source(ranges))
    assert not feed.has_ended
    batch = feed.next_batch({})
    assert batch is not None
    assert batch.rows["s"].columns[1].values.tolist() == [1, 2, 4]
    assert batch.ranges == ranges
    assert feed.next_batch({}) is None
    assert feed.has_ended


def test_a_carrier_is_asked_also_when_there_is_nothing(ranges: list[Range]) -> None:
    carrier = Carrier()
    feed = RangeFeed(Source(ranges[:1] + ranges[2:]), carrier)
    batch = feed.next_batch({})
    assert batch is not None
    assert batch.rows["s"].columns[1].values.tolist() == [4, 1, 2]
    assert feed.next_batch({}) is None
    assert carrier.asked == [2, 0]


def test_nothing_is_read_when_the_carrier_was_stopped(ranges: list[Range]) -> None:
    carrier = Carrier()
    carrier.stop()
    assert RangeFeed(Source(ranges), carrier).next_batch({}) is None


def test_a_file_that_cannot_be_read_is_an_error_or_left_out(ranges: list[Range]) -> None:
    with pytest.raises(RunError, match=r"2\.csv"):
        read_ranges(RELATIONS, ranges)
    left: list[Range] = []
    batch = read_ranges(RELATIONS, ranges, lambda part, error: left.append(part))
    assert left == ranges[1:2]
    assert list(batch.ranges) == [ranges[0], ranges[2]]
    assert batch.rows["s"].columns[1].values.tolist() == [1, 2, 4]
