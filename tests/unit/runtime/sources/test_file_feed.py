"""The files of a stream: in name order, each row once, more when they come, and nothing seen that was not handed out."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.read_range import read_range
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.sources.file_trace import Place

NUMBERS = relation({"ts": T.BIGINT})
LONG_AGO_S = 1_700_000_000


def settled(path: Path, *numbers: int) -> Path:
    """A file that nobody has touched for long."""
    path.write_text("ts\n" + "".join(f"{number}\n" for number in numbers))
    os.utime(path, (LONG_AGO_S, LONG_AGO_S + len(numbers)))
    return path


def feed(folder: Path, *, follow: bool = True, done: dict[str, Place] | None = None) -> FileFeed:
    return FileFeed("s", NUMBERS, folder, follow=follow, done=done or {})


def taken(feed: FileFeed, rows: int | None = None, most: int = 100) -> list[int]:
    found: list[int] = []
    while most and (part := feed.take(rows)) is not None:
        most -= 1
        for batch in read_range(NUMBERS, part[0]):
            found += to_python(batch.columns[0])
    return found


def test_files_come_in_name_order_and_a_finite_feed_ends(tmp_path: Path) -> None:
    settled(tmp_path / "b.csv", 3)
    settled(tmp_path / "a.csv", 1, 2)
    finite = feed(tmp_path, follow=False)
    assert taken(finite, rows=1) == [1, 2, 3]
    assert finite.ended


def test_a_feed_that_follows_hands_out_new_files_and_new_lines(tmp_path: Path) -> None:
    first = settled(tmp_path / "a.csv", 1)
    following = feed(tmp_path)
    assert taken(following) == [1]
    settled(tmp_path / "b.csv", 2)
    settled(first, 1, 3)
    following.look()
    assert taken(following) == [3, 2]
    assert not following.ended
    assert taken(following) == []


def test_a_file_that_was_listed_waits_until_somebody_asks(tmp_path: Path) -> None:
    """Another stream may be behind, and nobody asks this feed for several looks."""
    settled(tmp_path / "a.csv", 1)
    following = feed(tmp_path)
    assert taken(following) == [1]
    settled(tmp_path / "b.csv", 2)
    for _ in range(3):
        following.look()
    assert taken(following) == [2]


def test_a_feed_goes_on_where_another_stopped(tmp_path: Path) -> None:
    settled(tmp_path / "a.csv", 1, 2, 3)
    first = feed(tmp_path)
    assert taken(first, rows=2, most=1) == [1, 2]
    first.close()
    assert taken(feed(tmp_path, done=first.done)) == [3]


def test_a_range_that_is_given_back_is_handed_out_when_its_file_changes(tmp_path: Path) -> None:
    file = settled(tmp_path / "a.csv", 1)
    following = feed(tmp_path)
    part = following.take(None)
    assert part is not None
    following.give_back(part[0])
    following.look()
    assert taken(following) == []
    settled(file, 1, 2)
    following.look()
    assert taken(following) == [1, 2]


def test_files_that_have_gone_are_forgotten(tmp_path: Path) -> None:
    file = settled(tmp_path / "a.csv", 1)
    following = feed(tmp_path)
    assert taken(following) == [1]
    file.unlink()
    following.forget_gone()
    assert following.done == {}


def test_nothing_at_the_path_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError):
        feed(tmp_path / "nowhere", follow=False)


def test_a_file_with_a_date_in_the_future_is_complete_when_it_does_not_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a clock was put back: its last line has no end, and nobody may wait for that date."""
    file = tmp_path / "a.csv"
    file.write_text("ts\n1\n2")
    os.utime(file, (time.time() + 86_400,) * 2)
    following = feed(tmp_path)
    assert taken(following) == [1]
    monkeypatch.setattr("cqc.runtime.sources.file_feed.SETTLED_S", 0.0)
    following.look()
    assert taken(following) == [2]


def test_what_is_called_like_data_and_is_no_file_is_told_once(tmp_path: Path) -> None:
    settled(tmp_path / "a.csv", 1)
    os.mkfifo(tmp_path / "b.csv")
    (tmp_path / "c.csv").symlink_to("nowhere.csv")
    (tmp_path / "d.parquet").mkdir()
    (tmp_path / "_e.csv").mkdir()
    (tmp_path / "f").mkdir()
    told: list[str] = []
    following = FileFeed("s", NUMBERS, tmp_path, follow=True, done={}, warn=told.append)
    assert taken(following) == [1]
    assert [sentence.partition(" is no file")[0] for sentence in told] == [
        f"s: {tmp_path / 'b.csv'} (and 2 more)"
    ]
    (tmp_path / "c.csv").unlink()
    settled(tmp_path / "c.csv", 2)
    following.look()
    assert taken(following) == [2]
    assert len(told) == 1
