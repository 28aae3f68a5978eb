"""What goes through Spark's stream: whoever put ranges knows what must come out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.sources.range import Range
from cqc.runtime.spark.session.feed import Feed

if TYPE_CHECKING:
    from pathlib import Path

RANGES = [Range("s", "a.csv", "csv", 0, 7), Range("s", "ü.csv", "csv", 7, 9)]


class Delivered:
    """A micro-batch as Spark delivers it: the lines of a file, in any order."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines = lines

    def toArrow(self) -> Any:  # noqa: N802  as Spark calls it
        return pa.table({"value": pa.array(self._lines, pa.binary())})


def lines(folder: Path) -> list[bytes]:
    return max(folder.glob("*.jsonl")).read_bytes().splitlines()


def test_the_ranges_come_back_in_whatever_order_spark_gives_their_lines(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed")
    feed.put(RANGES)
    written = lines(tmp_path / "feed")
    assert feed.taken(Delivered(written[::-1]), None) == RANGES  # type: ignore[arg-type]


def test_anything_else_is_noticed(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed")
    feed.put(RANGES)
    whole = lines(tmp_path / "feed")
    for damaged in (
        whole[:1],
        [*whole, whole[0]],
        [whole[0], whole[1].replace(b"7", b"8")],
        [b"\xff"],
    ):
        with pytest.raises(RunError, match="Spark delivers something else than was written to"):
            feed.taken(Delivered(damaged), None)  # type: ignore[arg-type]


def test_two_files_are_kept_and_nothing_half_written_is_seen(tmp_path: Path) -> None:
    feed = Feed(tmp_path / "feed")
    for number in range(5):
        feed.put([Range("s", "a.csv", "csv", number, number + 1)])
    names = sorted(file.name for file in (tmp_path / "feed").iterdir())
    assert names == ["000000000003.jsonl", "000000000004.jsonl"]
