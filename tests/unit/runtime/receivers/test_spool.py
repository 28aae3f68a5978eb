"""Results that wait: in order, bounded, cut back to what counts, and damage is told."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.files.record_file import RecordFile
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.receivers.receiver import Columns, Sent
from cqc.runtime.receivers.spool import FileSpool, MemorySpool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.receivers.spool import Spool

COLUMNS = Columns(("x",), ("BIGINT",), "BIGINT")


def results(first: int, count: int) -> list[Sent]:
    return [
        Sent(n, f"id{n}", f"q{n % 2}", f'{{"x": {n}}}', COLUMNS)
        for n in range(first, first + count)
    ]


def numbers(spool: Spool, after: int, most: int = 100) -> list[int]:
    return [each.number for each in spool.read(after, most, 0.0)]


@pytest.fixture(params=["memory", "file"])
def spool(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Spool]:
    made: Spool = (
        MemorySpool(10_000) if request.param == "memory" else FileSpool(tmp_path, 0, 10_000)
    )
    yield made
    made.close()


def test_only_what_counts_is_read_in_order(spool: Spool) -> None:
    spool.append(results(1, 5))
    assert numbers(spool, 0) == []
    spool.release()
    spool.append(results(6, 2))
    assert numbers(spool, 0, 3) == [1, 2, 3]
    assert numbers(spool, 3) == [4, 5]
    assert spool.read(0, 1, 0.0)[0] == results(1, 1)[0]


def test_what_was_sent_makes_room(spool: Spool) -> None:
    first = 1
    while not spool.is_full:
        spool.append(results(first, 50))
        first += 50
    spool.release()
    last = spool.last
    for start in range(0, last, 10):
        assert numbers(spool, start, 10) == list(range(start + 1, min(start + 10, last) + 1))
        spool.forget(min(start + 10, last))
    assert not spool.is_full


def test_the_oldest_are_dropped_where_there_is_no_room(spool: Spool) -> None:
    first = 1
    while not spool.is_full:
        spool.append(results(first, 50))
        first += 50
    spool.release()
    gone = spool.drop_oldest()
    assert 0 < gone < spool.last
    assert numbers(spool, gone, 1) == [gone + 1]


def test_a_spool_goes_on_with_what_counts(tmp_path: Path) -> None:
    spool = FileSpool(tmp_path, 0, 10**6)
    spool.append(results(1, 10))
    spool.sync()
    spool.append(results(11, 5))  # these never come to count
    spool.close()
    again = FileSpool(tmp_path, 10, 10**6)
    assert again.last == 10
    assert numbers(again, 4) == [5, 6, 7, 8, 9, 10]
    again.append(results(11, 1))
    again.release()
    assert numbers(again, 10) == [11]
    again.close()


def test_results_that_count_and_are_missing_are_damage(tmp_path: Path) -> None:
    spool = FileSpool(tmp_path, 0, 10**6)
    spool.append(results(1, 10))
    spool.close()
    with pytest.raises(DamagedError, match="ends with result 10, although 12"):
        FileSpool(tmp_path, 12, 10**6)


def test_a_flipped_bit_is_damage(tmp_path: Path) -> None:
    spool = FileSpool(tmp_path, 0, 10**6)
    spool.append(results(1, 10))
    spool.append(results(11, 10))
    spool.close()
    (file,) = tmp_path.glob("*.log")
    data = bytearray(file.read_bytes())
    data[60] ^= 4
    file.write_bytes(data)
    with pytest.raises(DamagedError, match="damaged"):
        FileSpool(tmp_path, 20, 10**6)


def test_a_spool_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    file = RecordFile(tmp_path / f"{1:020d}.log")
    some = results(1, 3)
    file.append(
        {
            "first": 1,
            "count": 3,
            "queries": {name: asdict(COLUMNS) for name in ("q1", "q0")},
            "of": [0, 1, 0],
            "ids": [each.id for each in some],
        },
        "\n".join(each.line for each in some).encode(),
    )
    file.close()
    spool = FileSpool(tmp_path, 3, 10**6)
    assert list(spool.read(0, 10, 0.0)) == some
    spool.append(results(4, 2))
    spool.release()
    assert list(spool.read(3, 10, 0.0)) == results(4, 2)
    spool.close()
