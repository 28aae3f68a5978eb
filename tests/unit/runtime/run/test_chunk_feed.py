"""Chunks come from the stream that is furthest behind in event time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.run.chunk_feed import ChunkFeed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.runtime.intake.typed_batch import TypedBatch

ENGINE = cqc.Engine(cqc.compile("CREATE STREAM a (ts BIGINT); CREATE STREAM b (ts BIGINT);"))


def chunks(name: str, *times: int) -> Iterator[TypedBatch]:
    for time in times:
        yield ENGINE.typed({name: [{"ts": time}]})[name]


def order_of(feed: ChunkFeed, reached: dict[str, int]) -> list[str]:
    found = []
    while (batch := feed.next_batch(reached)) is not None:
        ((name, taken),) = batch.rows.items()
        reached[name] = int(taken.ts_us[0])
        found.append(f"{name}{taken.ts_us[0] // 1_000_000}")
    return found


@pytest.mark.parametrize("is_ahead", [False, True])
def test_the_stream_that_is_furthest_behind_is_read_next(is_ahead: bool) -> None:
    both = {"a": chunks("a", 1, 5, 6), "b": chunks("b", 2, 3, 9)}
    feed = ChunkFeed(both, is_ahead=is_ahead)
    assert not feed.has_ended
    assert order_of(feed, {}) == ["a1", "b2", "a5", "b3", "b9", "a6"]
    assert feed.has_ended


@pytest.mark.parametrize("is_ahead", [False, True])
def test_a_stream_without_rows_holds_nobody_up(is_ahead: bool) -> None:
    feed = ChunkFeed({"a": chunks("a"), "b": chunks("b", 1)}, is_ahead=is_ahead)
    assert order_of(feed, {}) == ["b1"]
    assert ChunkFeed({}).has_ended
