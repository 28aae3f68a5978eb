"""Results as events: where a watcher begins, and how it hears of gaps, slowness and the end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.http.events import Place, Watchers, events, find_place
from cqc.runtime.serve.refusal import Refusal
from cqc.runtime.serve.service import Service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.runtime.serve.records.result_log import ResultLog


@pytest.fixture
def log() -> Iterator[ResultLog]:
    """Three results, with the numbers 1 to 3."""
    service = Service(
        cqc.compile("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s")
    )
    service.take(
        "s", Intake(service.engine.lines["s"].relation).take([{"ts": at} for at in range(3)])
    )
    service.commit()
    yield service.results
    service.close()


def test_a_watcher_begins_now_at_the_start_or_after_an_id(log: ResultLog) -> None:
    assert find_place(log, "e", None, None) == find_place(log, "e", None, "now") == Place(4)
    assert find_place(log, "e", None, "start") == Place(1)
    assert find_place(log, "e", "e-1", "now") == Place(2)
    assert find_place(log, "e", "e-99", None) == Place(4)


def test_an_id_of_another_service_has_missed_everything(log: ResultLog) -> None:
    assert find_place(log, "e", "other-2", None) == Place(1, missed_from=0)


@pytest.mark.parametrize("given", ["e-x", "e-", "e-" + "9" * 30, "e-\u0663", "yesterday"])
def test_what_is_no_id_is_refused(given: str, log: ResultLog) -> None:
    with pytest.raises(Refusal, match="is no id of a result"):
        find_place(log, "e", given, None)


def heard(log: ResultLog, place: Place, watchers: Watchers) -> list[bytes]:
    async def inside() -> list[bytes]:
        bell = watchers.join()
        stream = events(log, "e", watchers, bell, place, None, lambda: {"reason": "gone"})
        return [chunk async for chunk in stream]

    return asyncio.run(inside())


def test_a_watcher_hears_its_place_the_results_and_the_end(log: ResultLog) -> None:
    first, results, end = heard(log, Place(2), Watchers(1))
    assert first == b"retry: 1000\nid: e-1\n\n"
    assert [line for line in results.split(b"\n") if line.startswith(b"id")] == [
        b"id: e-2",
        b"id: e-3",
    ]
    assert end == b'event: end\ndata: {"reason": "gone"}\n\n'


def test_a_gap_is_told_first(log: ResultLog) -> None:
    _, gap, *_ = heard(log, Place(1, missed_from=0), Watchers(1))
    assert gap == b'event: gap\ndata: {"missed_from": 0, "next": 1}\n\n'


def test_who_reads_too_slowly_is_dropped(log: ResultLog, monkeypatch: pytest.MonkeyPatch) -> None:
    watchers = Watchers(1)
    read = log.read

    def lost(*arguments: object) -> object:
        page = read(*arguments)  # type: ignore[arg-type]
        return type(page)(page.lines, page.next, True)

    monkeypatch.setattr(type(log), "read", lambda self, *arguments: lost(*arguments))
    _, dropped = heard(log, Place(1), watchers)
    assert dropped.startswith(b"event: dropped\n")
    assert watchers.dropped == 1


def test_there_are_at_most_so_many_watchers() -> None:
    watchers = Watchers(1)
    bell = watchers.join()
    with pytest.raises(Refusal, match="there are 1 watchers already"):
        watchers.join()
    watchers.leave(bell)
    watchers.join()
    watchers.close()
    assert len(watchers) == 1
    assert watchers.closing
