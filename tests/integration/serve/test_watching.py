"""Server-sent events: ids, coming back, gaps, slow watchers, the end of a query."""

import asyncio
import itertools
import json
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import httpx
import pytest

from cqc.runtime.serve.http.events import EventResponse
from tests.integration.serve.running import Running, events_of, running
from tests.support.waiting import PATIENCE_S, wait_until


def row(ts: int, x: float = 20.0, **more: Any) -> dict[str, Any]:
    return {"ts": ts, "k": ts, "x": x, **more}


def test_a_watcher_that_comes_back_misses_nothing() -> None:
    with running() as service:
        service.push("s", row(1), row(2))
        (first_id, _), *_ = service.watch(2)
        service.push("s", row(3))
        back = service.watch(2, last_id=first_id)
        assert [result["row"]["k"] for _, result in back] == [2, 3]


def test_a_watcher_of_one_query_sees_that_query_alone() -> None:
    with running() as service:
        service.register("SELECT k FROM s WHERE x < 10", name="small")
        service.push("s", row(1), row(2, 5.0), row(3))
        assert [r["row"]["k"] for _, r in service.watch(2, "/queries/big/results")] == [1, 3]
        assert [r["row"]["k"] for _, r in service.watch(1, "/queries/small/results")] == [2]


def test_a_watcher_is_told_of_new_results_at_once() -> None:
    with running() as service, service.client.stream("GET", "/results") as answer:
        events = events_of(answer)
        service.push("s", row(1))
        assert json.loads(next(events)["data"])["row"]["k"] == 1


def test_results_that_are_no_longer_kept_are_told_as_a_gap() -> None:
    with running(kept_result_bytes=1) as service:
        service.push("s", row(1))
        ((first_id, _),) = service.watch(1)
        for ts in (2, 3):
            service.push("s", row(ts))
        headers = {"last-event-id": first_id}
        with service.client.stream("GET", "/results", headers=headers) as answer:
            events = events_of(answer)
            assert next(events)["event"] == "gap"
            assert json.loads(next(events)["data"])["row"]["k"] == 3


def test_an_id_of_another_life_begins_with_a_gap() -> None:
    with running() as service:
        service.push("s", row(1))
        headers = {"last-event-id": "0badcafe-77"}
        with service.client.stream("GET", "/results", headers=headers) as answer:
            assert next(events_of(answer))["event"] == "gap"


def test_watching_ends_when_the_query_is_unregistered() -> None:
    with running() as service, service.client.stream("GET", "/queries/big/results") as answer:
        events = events_of(answer)
        service.push("s", row(1))
        service.client.delete("/queries/big")
        assert [event["event"] for event in events] == ["result", "end"]


def test_watching_ends_when_the_service_stops() -> None:
    with running() as service, service.client.stream("GET", "/results") as answer:
        service.server.stop()
        assert [event["event"] for event in events_of(answer)] == ["end"]


@pytest.mark.parametrize("since", ["yesterday", "-", "x-y", "a-" + "9" * 30])
def test_an_id_that_was_never_given_is_refused(since: str) -> None:
    with running() as service:
        assert service.client.get("/results", params={"since": since}).status_code == 422


def test_only_queries_that_deliver_can_be_watched() -> None:
    with running() as service:
        assert service.client.get("/queries/total/results").status_code == 409
        assert service.client.get("/queries/nobody/results").status_code == 404


def test_periodic_queries_deliver_to_watchers() -> None:
    with running() as service:
        text = "SELECT COUNT(*) AS n FROM s BEGIN AFTER NOW - 10 END NOW EVERY 10 SEC"
        service.register(text, name="tens")
        service.push("s", row(1), row(2))
        service.push("s", row(11))
        ((_, result),) = service.watch(1, "/queries/tens/results")
        assert result == {"query": "tens", "at": 10, "row": {"n": 2}}


def test_a_watcher_that_does_not_read_is_dropped_and_others_go_on() -> None:
    with running(watcher_seconds=0.2, kept_result_bytes=200_000_000) as service:
        service.register("SELECT name FROM s", name="long")
        stuck = connect_and_stop_reading(service)
        instants = itertools.count(1)

        def push_more() -> bool:
            """What the sockets hold is used up at some point; then nothing more can be sent to who does not read."""
            service.push("s", row(next(instants), 1.0, name="y" * 100_000))
            return dropped(service) == 1

        try:
            wait_until(push_more, "a watcher that does not read was not dropped")
            wait_until(lambda: not is_connected(service, stuck), "its connection was kept")
        finally:
            stuck.close()
        pushed = next(instants) - 1
        assert [result["ts"] for result in come_back(service, pushed)] == [*range(1, pushed + 1)]


def is_connected(service: Running, connection: socket.socket) -> bool:
    """Whether the server has not let go of a connection."""
    port = connection.getsockname()[1]
    return any(each.client[1] == port for each in set(service.server.server_state.connections))


def come_back(service: Running, count: int) -> list[dict[str, Any]]:
    """Read results as a client does that comes back after each disconnect: on a slow machine it may be dropped itself."""
    found: list[dict[str, Any]] = []
    last_id: str | None = None
    while len(found) < count:
        headers: dict[str, str] = {} if last_id is None else {"last-event-id": last_id}
        with (
            suppress(httpx.TransportError),
            service.client.stream("GET", "/results?since=start", headers=headers) as answer,
        ):
            for event in events_of(answer):
                assert event["event"] == "result"
                found.append(json.loads(event["data"]))
                last_id = event["id"]
                if len(found) == count:
                    break
    return found


def dropped(service: Running) -> int:
    found = re.search(
        r"^cqc_watchers_dropped_total (\d+)$", service.client.get("/metrics").text, re.MULTILINE
    )
    assert found
    return int(found[1])


def test_one_watcher_that_is_stuck_does_not_hold_up_another() -> None:
    """Without sockets: one that never takes what is sent, and one that takes everything, in one event loop."""

    async def body() -> AsyncIterator[bytes]:
        for number in range(5):
            yield b"%d" % number

    async def never() -> Any:
        await asyncio.Event().wait()

    async def watch(send: Callable[[Any], Awaitable[None]]) -> bool:
        ended: list[bool] = []
        await EventResponse(body(), 0.01, ended.append)({}, never, send)
        (stuck,) = ended
        return stuck

    async def both() -> list[bool]:
        return [*await asyncio.gather(watch(stop_reading), watch(read))]

    async def stop_reading(message: Any) -> None:
        if message.get("body"):
            await never()

    async def read(message: Any) -> None:
        seen.append(message.get("body"))

    seen: list[Any] = []
    assert asyncio.run(both()) == [True, False]
    assert seen == [None, b"0", b"1", b"2", b"3", b"4", b""]


def connect_and_stop_reading(service: Running, path: str = "/results") -> socket.socket:
    host, port = service.address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    assert b"200" in connection.recv(64)
    return connection


def test_the_number_of_watchers_is_limited() -> None:
    with (
        running(watchers=1) as service,
        service.client.stream("GET", "/results"),
        httpx.Client(base_url=service.address, timeout=PATIENCE_S, trust_env=False) as other,
    ):
        assert other.get("/results").status_code == 503


def test_who_does_not_read_an_answer_is_hung_up_on() -> None:
    with running(watcher_seconds=0.2) as service:
        service.register("SELECT name FROM s BEGIN 0 END NOW", name="large")
        service.push("s", *(row(ts, 1.0, name="y" * 100_000) for ts in range(200)))
        stuck = connect_and_stop_reading(service, "/queries/large/invoke")
        try:
            wait_until(lambda: not is_connected(service, stuck), "its connection was kept")
        finally:
            stuck.close()
