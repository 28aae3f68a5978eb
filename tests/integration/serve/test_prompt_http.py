"""When a request must have come: timers are looked at, not waited for."""

import asyncio
from typing import Any

import pytest
import uvicorn
from starlette.exceptions import HTTPException
from uvicorn.server import ServerState

from cqc.runtime.networks.prompt_http import protocol_with
from cqc.runtime.serve.http.access import Gate
from cqc.runtime.serve.http.tokens import Tokens
from cqc.runtime.serve.limits import Limits

WHOLE = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"


class Wire(asyncio.Transport):
    """The other side of a connection, which notes what is written."""

    def __init__(self, answered: asyncio.Event) -> None:
        super().__init__()
        self.written = b""
        self._answered = answered

    def write(self, data: Any) -> None:
        self.written += data
        if b"done" in self.written:
            self._answered.set()

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def set_protocol(self, protocol: Any) -> None:
        pass

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass


async def answer(scope: Any, receive: Any, send: Any) -> None:
    headers = [(b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"done"})


async def is_timed(*parts: bytes) -> bool:
    """Whether a connection on which these parts came, each after the answers to those before, has a time limit."""
    answered = asyncio.Event()
    config = uvicorn.Config(answer, lifespan="off", log_config=None)
    config.load()
    kind = protocol_with(1e6, 1e6, 10)
    protocol: Any = kind(config=config, server_state=ServerState(), app_state={})
    wire = Wire(answered)
    protocol.connection_made(wire)
    for part in parts:
        protocol.data_received(part)
        if b"\r\n\r\n" in part:
            await answered.wait()
            await asyncio.sleep(0)
    timed = protocol._head_timer is not None
    protocol.connection_lost(None)
    assert protocol._head_timer is None
    return timed


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), True),
        ((b"GET",), True),
        ((WHOLE,), False),
        ((b"GET", WHOLE[3:]), False),
        ((WHOLE, b"GET"), True),
        ((WHOLE + b"GET",), True),
        ((WHOLE, WHOLE), False),
    ],
)
def test_a_head_that_has_begun_has_a_time_limit(parts: tuple[bytes, ...], expected: bool) -> None:
    assert asyncio.run(is_timed(*parts)) is expected


async def hear(*messages: dict[str, Any] | None) -> list[Any]:
    """What an application hears through the gate when its time for the body is over; None stands for waiting."""
    coming = list(messages)
    heard: list[Any] = []

    async def receive() -> Any:
        if coming[0] is None:
            coming.pop(0)
            await asyncio.sleep(0.001)
        return coming.pop(0)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        while coming:
            heard.append((await receive())["type"])

    async def send(message: Any) -> None:
        raise AssertionError(message)

    gate = Gate(app, tokens=Tokens(), limits=Limits(body_seconds=0.0))
    scope = {"type": "http", "path": "/", "method": "GET", "headers": [(b"host", b"localhost")]}
    await gate(scope, receive, send)
    return heard


def test_the_limit_of_a_body_ends_with_the_body() -> None:
    whole = {"type": "http.request", "body": b"", "more_body": False}
    part = {"type": "http.request", "body": b"x", "more_body": True}
    gone = {"type": "http.disconnect"}
    assert asyncio.run(hear(whole, None, gone)) == ["http.request", "http.disconnect"]
    with pytest.raises(HTTPException) as refused:
        asyncio.run(hear(part, None, whole))
    assert refused.value.status_code == 408
