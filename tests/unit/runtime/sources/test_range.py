"""A range says which rows a micro-batch had: it is written down and read back as it was."""

from __future__ import annotations

import pytest

from cqc.runtime.sources.range import Range


@pytest.mark.parametrize(
    "part",
    [
        Range("b", "data/blood ü.csv", "csv", 36, 4_194_281, 36, checksum=7, size=9, has_more=True),
        Range("b", "topic/0", "kafka", 2**62, None),
    ],
)
def test_a_range_is_written_down_and_read_back(part: Range) -> None:
    assert Range.from_json(part.to_json()) == part


def test_its_place_is_where_the_next_one_begins() -> None:
    assert Range("b", "topic/0", "kafka", 3, 7).place == 7
    assert Range("b", "a.gz", "csv", 0, None, checksum=5, size=9).place == [None, 5, 9, 0]
