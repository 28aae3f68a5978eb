"""One chunk is read ahead in a thread; which one comes when does not depend on what was expected."""

from __future__ import annotations

import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run import finite_run
from cqc.runtime.run.chunk_feed import ChunkFeed
from cqc.runtime.run.finite_run import LocalRun
from cqc.runtime.run.read_ahead import ReadAhead
from tests.unit.runtime.run.test_chunk_feed import chunks, order_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.intake.typed_batch import TypedBatch


def _numbers(*numbers: Any) -> Any:
    return iter(numbers)


def test_what_was_expected_and_what_was_not_come_in_the_order_of_their_stream() -> None:
    ahead = ReadAhead({"a": _numbers(1, 2, 3), "b": _numbers(7, 8)})
    ahead.expect("a")
    assert ahead.take("b") == 7
    ahead.expect("b")  # nothing: a chunk waits already
    assert [ahead.take(name) for name in "abaaab"] == [1, 8, 2, 3, None, None]
    ahead.close()


def test_it_is_read_beside_the_caller() -> None:
    readers = []

    def rows() -> Iterator[Any]:
        readers.append(threading.current_thread())
        yield 1

    ahead = ReadAhead({"a": rows()})
    ahead.expect("a")
    assert ahead.take("a") == 1
    assert readers != [threading.current_thread()]
    ahead.close()
    readers[0].join()


def test_what_reading_raises_is_raised_where_it_is_asked_for() -> None:
    def rows() -> Iterator[Any]:
        yield 1
        raise OSError("gone")

    ahead = ReadAhead({"a": rows(), "b": _numbers(7)})
    assert ahead.take("a") == 1
    ahead.expect("a")
    assert ahead.take("b") == 7
    with pytest.raises(OSError, match="gone"):
        ahead.take("a")
    ahead.close()


@pytest.mark.parametrize("seed", range(5))
def test_slow_and_quick_readers_give_one_order(seed: int) -> None:
    chance = random.Random(seed)
    times = {name: sorted(chance.sample(range(60), 12)) for name in "ab"}

    def slowly(name: str) -> Iterator[TypedBatch]:
        for each in chunks(name, *times[name]):
            time.sleep(chance.random() * 0.002)
            yield each

    plain = ChunkFeed({name: chunks(name, *times[name]) for name in "ab"})
    ahead = ChunkFeed({name: slowly(name) for name in "ab"}, is_ahead=True)
    assert order_of(ahead, {}) == order_of(plain, {})


def test_a_run_that_reads_ahead_finds_the_same_in_the_same_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(16)
    for name in "ab":
        rows = "".join(f"{at},{chance.randrange(20)}\n" for at in range(400))
        (tmp_path / f"{name}.csv").write_text("ts,k\n" + rows)
    program = cqc.compile(
        f"CREATE STREAM a (ts BIGINT, k BIGINT) WITH (path = '{tmp_path}/a.csv');"
        f"CREATE STREAM b (ts BIGINT, k BIGINT) WITH (path = '{tmp_path}/b.csv');"
        "CREATE QUERY high AS SELECT a.k FROM a WHERE a.k > 15;"
        "CREATE QUERY both AS SELECT a.k FROM a, b WHERE a.k = b.k MAXWINDOW 5 SEC;"
    )
    found = []
    for most in (0, 1 << 40):
        monkeypatch.setattr(finite_run, "_MUCH_BYTES", most)
        monkeypatch.setattr(finite_run, "_cores", lambda: 2)
        out = tmp_path / f"{most}.jsonl"
        run = LocalRun(program, RunOptions(out=str(out), rows_per_batch=7))
        run.to_end()
        run.close()
        found.append(out.read_text())
    assert found[0] == found[1] != ""
    assert not [each for each in threading.enumerate() if each.name.startswith("cqc-reader")]
