"""Ids of results: the same however input is cut, numbered where results are equal, forgotten when their time is past."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

import cqc
from cqc.runtime.receivers.result_ids import ResultIds

if TYPE_CHECKING:
    from cqc.runtime.deliver.results import ResultBlock

PROGRAM = "CREATE STREAM s (ts TIMESTAMP, x BIGINT, v DOUBLE, WATERMARK FOR ts AS ts - 1 HOUR); CREATE QUERY q AS SELECT x, v FROM s"
ROWS = [
    {"ts": "2024-01-01T00:00:01Z", "x": 1, "v": 0.5},
    {"ts": "2024-01-01T00:00:02Z", "x": None, "v": 1e21},
    {"ts": "2024-01-01T00:00:01Z", "x": 1, "v": 0.5},
    {"ts": "2024-01-01T00:00:01Z", "x": 1, "v": 0.5},
]


def blocks_of(rows: list[dict[str, object]], parts: int) -> list[list[ResultBlock]]:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    found = []
    for at in range(parts):
        engine.push("s", rows[at * len(rows) // parts : (at + 1) * len(rows) // parts])
        found += list(engine.drain_blocks())
    return found


def test_ids_are_those_of_the_page() -> None:
    (blocks,) = blocks_of(ROWS[:2], 1)
    texts = [
        '["p","q","2024-01-01T00:00:01Z",null,{"v":0.5,"x":"1"},0]',
        '["p","q","2024-01-01T00:00:02Z",null,{"v":1e+21,"x":null},0]',
    ]
    assert ResultIds("p").number(blocks).to_pylist() == [
        hashlib.sha256(text.encode()).hexdigest()[:32] for text in texts
    ]


def test_ids_do_not_depend_on_micro_batches_or_restarts() -> None:
    whole = {
        id_ for blocks in blocks_of(ROWS, 1) for id_ in ResultIds("p").number(blocks).to_pylist()
    }
    assert len(whole) == len(ROWS)
    for parts in (2, 4):
        ids = ResultIds("p")
        found = set()
        for blocks in blocks_of(ROWS, parts):
            again = ResultIds("p")
            again.restore(ids.to_json())
            ids = again
            found |= set(ids.number(blocks).to_pylist())
        assert found == whole


def test_times_that_are_past_are_forgotten() -> None:
    ids = ResultIds("p")
    for blocks in blocks_of(ROWS, 1):
        ids.number(blocks)
    assert ids.queries == ["q"]
    ids.forget({"q": 10**18})
    assert ids.queries == []
    assert ids.to_json() == {}


def test_equal_results_are_numbered_on_from_a_checkpoint_of_an_earlier_version() -> None:
    (first, second) = blocks_of([ROWS[0], ROWS[2]], 2)
    text = b'["p","q","2024-01-01T00:00:01Z",null,{"v":0.5,"x":"1"},'
    assert ResultIds("p").number(first).to_pylist() == [
        hashlib.sha256(text + b"0]").hexdigest()[:32]
    ]
    ids = ResultIds("p")
    packed = base64.b64encode(hashlib.sha256(text).digest()[:16]).decode()
    ids.restore({"q": [[1_704_067_201_000_000, packed, [1]]]})
    assert ids.number(second).to_pylist() == [hashlib.sha256(text + b"1]").hexdigest()[:32]]
    again = ResultIds("p")
    again.restore(ids.to_json())
    assert again.number(second).to_pylist() == [hashlib.sha256(text + b"2]").hexdigest()[:32]]
    again.forget({"q": 10**18})
    assert again.to_json() == {}


def test_most_of_what_is_past_is_forgotten_also_within_one_micro_batch() -> None:
    rows = [{"ts": f"2024-01-01T00:00:{at:02d}Z", "x": at, "v": 0.5} for at in range(60)]
    (blocks,) = blocks_of(rows, 1)
    ids = ResultIds("p")
    given = ids.number(blocks).to_pylist()
    ids.forget({"q": 1_704_067_200_000_000 + 45_000_000})
    assert sum(len(counts) for _, _, counts in ids.to_json()["q"]) == 15
    (last,) = blocks_of(rows[50:], 1)
    assert set(ids.number(last).to_pylist()).isdisjoint(given)  # they are numbered 1
