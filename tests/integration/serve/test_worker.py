"""What is answered is durable and visible: every change waits for a commit that comes after it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import TYPE_CHECKING

import cqc
from cqc.runtime.intake.typed_batch import Intake
from cqc.runtime.serve.service import Service
from cqc.runtime.serve.worker import Worker
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def push(number: int) -> Callable[[Service], None]:
    def work(service: Service) -> None:
        rows = Intake(service.engine.lines["s"].relation).take([{"ts": number}])
        service.push({"s": rows})

    return work


def shown(service: Service) -> int:
    return len(service.results.read(0, most=100).lines)


def test_a_change_that_comes_while_a_commit_waits_for_the_engine_is_committed_too() -> None:
    service = Service(
        cqc.compile("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s")
    )
    worker = Worker(service, lambda: None, lambda: None)
    begun, go_on = threading.Event(), threading.Event()

    def busy(service: Service) -> None:
        del service
        begun.set()
        assert go_on.wait(PATIENCE_S)

    async def clients() -> None:
        blocked = asyncio.ensure_future(worker.change(busy))
        first = asyncio.ensure_future(worker.change(push(1)))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        for _ in range(10):  # by now the commit of the first two waits in the engine's queue
            await asyncio.sleep(0)
        second = asyncio.ensure_future(worker.change(push(2)))
        for _ in range(10):
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(blocked, first, second)
        assert shown(service) == 2

    asyncio.run(asyncio.wait_for(clients(), PATIENCE_S))
    worker.stop()


def test_changes_that_come_while_a_commit_is_under_way_share_the_next_one() -> None:
    service = Service(
        cqc.compile("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s")
    )
    counted = [0]
    commit = service.commit
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        counted[0] += 1
        if counted[0] == 1:
            begun.set()
            assert go_on.wait(PATIENCE_S)
        commit()

    service.commit = slow  # type: ignore[method-assign]  # how often it comes is what is counted
    worker = Worker(service, lambda: None, lambda: None)

    async def clients() -> None:
        first = asyncio.ensure_future(worker.change(push(1)))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        rest = [asyncio.ensure_future(worker.change(push(number))) for number in range(2, 30)]
        for _ in range(10):
            await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, *rest)
        assert shown(service) == 29

    asyncio.run(asyncio.wait_for(clients(), PATIENCE_S))
    worker.stop()
    assert counted[0] == 3  # with the one that closes


def test_a_clock_that_is_put_back_does_not_hide_that_it_is_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cqc.runtime.serve.worker._BUSY_S", 0.0)
    worker = Worker(
        Service(cqc.compile("CREATE STREAM s (ts BIGINT);")), lambda: None, lambda: None
    )
    begun, go_on = threading.Event(), threading.Event()

    def busy(service: Service) -> None:
        del service
        begun.set()
        assert go_on.wait(PATIENCE_S)

    async def ask() -> None:
        asked = asyncio.ensure_future(worker.ask(busy, what="a long question"))
        await asyncio.to_thread(begun.wait, PATIENCE_S)
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now - 3_600)
        found = worker.busy
        go_on.set()
        await asked
        assert found is not None
        assert (found.what, found.seconds >= 0) == ("a long question", True)

    asyncio.run(asyncio.wait_for(ask(), PATIENCE_S))
    worker.stop()
