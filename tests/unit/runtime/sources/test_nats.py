"""Messages of a NATS server; `tests/integration/sources` has JetStream, which keeps them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.sources.nats import NatsFeed
from cqc.runtime.sources.read_range import read_range
from tests.integration.sinks.receivers import free_port, server
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation

nats = pytest.importorskip("nats")


def stream(port: int, more: str = "") -> Relation:
    where = f"format = 'nats', address = '127.0.0.1:{port}', topic = 'a.>'{more}"
    return cqc.compile(f"CREATE STREAM s (ts BIGINT, x BIGINT) WITH ({where})").catalog.relations[
        "s"
    ]


def test_nobody_there_is_one_sentence() -> None:
    with pytest.raises(RunError, match=r"cannot read s from nats at 127\.0\.0\.1:"):
        NatsFeed("s", stream(free_port()), None, done={}, warn=print)


def test_a_consumer_of_no_stream_is_one_sentence() -> None:
    port = free_port()
    with (
        server("nats-server", "-a", "127.0.0.1", "-p", str(port), port=port),
        pytest.raises(RunError, match="cannot read s from nats"),
    ):
        NatsFeed("s", stream(port, ", durable = 'd'"), None, done={}, warn=print)


def test_a_server_that_comes_back_is_read_again() -> None:
    port = free_port()
    said: list[str] = []
    came: set[int] = set()

    async def publish(x: int) -> None:
        connection = await nats.connect(f"nats://127.0.0.1:{port}")
        await connection.publish("a.b", json.dumps({"ts": x, "x": x}).encode())
        await connection.close()

    def has(x: int) -> bool:
        asyncio.run(publish(x))  # until the client is there again: nobody keeps what it misses
        feed.look()
        while (found := feed.take(None)) is not None:
            came.update(
                time for batch in read_range(relation, found[0]) for time in batch.ts_us.tolist()
            )
        return len(came) == x

    relation = stream(port)
    with server("nats-server", "-a", "127.0.0.1", "-p", str(port), port=port):
        feed = NatsFeed("s", relation, None, done={}, warn=said.append)
        wait_until(lambda: has(1))
    wait_until(lambda: bool(said))
    with server("nats-server", "-a", "127.0.0.1", "-p", str(port), port=port):
        wait_until(lambda: has(2))
        feed.close()
    assert said[0].startswith("s: the connection to nats at")
