"""Server-sent events: ids, coming back, gaps, slow watchers, the end of a query."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.serve.running import Running, events_of, running


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
    with running(watcher_seconds=0.2, kept_result_bytes=50_000_000) as service:
        service.register("SELECT name FROM s", name="long")
        stuck = connect_and_stop_reading(service)
        try:
            with ThreadPoolExecutor(1) as reader:
                seen = reader.submit(service.watch, 100)
                for ts in range(1, 101):
                    service.push("s", row(ts, 1.0, name="y" * 100_000))
                assert [result["ts"] for _, result in seen.result(timeout=30)] == [*range(1, 101)]
            wait_for_metric(service, "cqc_watchers_dropped_total 1")
        finally:
            stuck.close()


def connect_and_stop_reading(service: Running) -> socket.socket:
    host, port = service.address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.sendall(b"GET /results HTTP/1.1\r\nhost: localhost\r\n\r\n")
    assert b"200" in connection.recv(64)
    return connection


def wait_for_metric(service: Running, line: str) -> None:
    pause = threading.Event()
    for _ in range(200):
        if line in service.client.get("/metrics").text:
            return
        pause.wait(0.05)
    pytest.fail(f"no {line} in\n{service.client.get('/metrics').text}")


def test_the_number_of_watchers_is_limited() -> None:
    with (
        running(watchers=1) as service,
        service.client.stream("GET", "/results"),
        httpx.Client(base_url=service.address, timeout=10, trust_env=False) as other,
    ):
        assert other.get("/results").status_code == 503
