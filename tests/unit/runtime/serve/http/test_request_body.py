"""The body of a request: no larger and no slower than it may be, and out of the way when it is refused."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from starlette.exceptions import HTTPException

from cqc.runtime.serve.http.request_body import RequestBody

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

PARTS = [b"abc", b"de", b"f"]


class Sender:
    """Sends parts; after the last one, nothing comes."""

    def __init__(self, parts: list[bytes], *, ends: bool = True) -> None:
        self.left = [
            {"type": "http.request", "body": part, "more_body": at + 1 < len(parts) or not ends}
            for at, part in enumerate(parts)
        ]

    async def __call__(self) -> dict[str, Any]:
        if not self.left:
            await asyncio.Event().wait()
        return self.left.pop(0)


def run(act: Callable[[], Awaitable[Any]]) -> Any:
    async def inside() -> Any:
        return await act()

    return asyncio.run(inside())


def test_the_parts_are_handed_on() -> None:
    async def act() -> bytes:
        body = RequestBody(Sender(PARTS), 6, 60.0)
        return b"".join([(await body.receive())["body"] for _ in PARTS])

    assert run(act) == b"abcdef"


def test_too_much_is_refused_at_the_part_that_is_too_much() -> None:
    async def act() -> None:
        body = RequestBody(Sender(PARTS), 4, 60.0)
        await body.receive()
        with pytest.raises(HTTPException, match="larger than 4 bytes") as refused:
            await body.receive()
        assert refused.value.status_code == 413

    run(act)


def test_what_does_not_come_in_time_is_refused() -> None:
    async def act() -> None:
        body = RequestBody(Sender([], ends=False), 4, 0.0)
        with pytest.raises(HTTPException, match="did not come within 0 seconds") as refused:
            await body.receive()
        assert refused.value.status_code == 408

    run(act)


def test_a_refusal_is_sent_when_the_rest_of_the_body_has_come() -> None:
    async def act() -> tuple[int, list[Any]]:
        sender = Sender(PARTS)
        body = RequestBody(sender, 60, 60.0)
        await body.receive()
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await body.sender(send)({"type": "http.response.start", "status": 400, "headers": []})
        return len(sender.left), sent

    left, sent = run(act)
    assert left == 0
    assert sent[0]["headers"] == []


def test_the_connection_of_a_body_that_does_not_end_is_closed() -> None:
    async def act() -> list[Any]:
        body = RequestBody(Sender([b"abc"], ends=False), 60, 0.0)
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await body.sender(send)({"type": "http.response.start", "status": 408, "headers": []})
        await body.sender(send)({"type": "http.response.start", "status": 200, "headers": []})
        return sent

    refusal, answer = run(act)
    assert (b"connection", b"close") in refusal["headers"]
    assert answer["headers"] == []
