"""The body of a request as it comes in: no larger than it may be, no slower, and out of the way when it is refused."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Send

_LET_PASS = 32 * 1024 * 1024  # bytes of a body that is refused
_TOO_SLOW = 408


class RequestBody:
    """Hands on the parts of a body.

    Args:
        receive: where they come from.
        most: how many bytes it may have.
        seconds: how long it may take.
    """

    def __init__(self, receive: Receive, most: int, seconds: float) -> None:
        self.most = most
        self._receive = receive
        self._seconds = seconds
        self._give_up = asyncio.get_running_loop().time() + seconds
        self._read = 0
        self._is_whole = False

    async def receive(self) -> Message:
        """The next part.

        Raises:
            HTTPException: when it is too much, or too slow.
        """
        if self._is_whole:
            return await self._receive()  # only the end of the connection is left to hear of
        try:
            message = await self._part()
        except TimeoutError as error:
            slow = f"the body did not come within {self._seconds:g} seconds"
            raise HTTPException(_TOO_SLOW, slow) from error
        if self._read > self.most:
            raise HTTPException(413, self.too_large())
        return message

    def sender(self, send: Send) -> Send:
        """Sends answers; a refusal not before the rest of the body has come, or who sends it would never read it."""

        async def send_last(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                if not self._is_whole and message["status"] != _TOO_SLOW:
                    await self._let_pass()
                if not self._is_whole:
                    headers = [*message.get("headers", ()), (b"connection", b"close")]
                    message = {**message, "headers": headers}
            await send(message)

        return send_last

    def too_large(self) -> str:
        """What is said of a body with too many bytes."""
        return f"the body is larger than {self.most:,} bytes"

    async def _let_pass(self) -> None:
        """Read on and forget, up to a limit: who sends for ever need not be answered."""
        with contextlib.suppress(TimeoutError):
            while not self._is_whole and self._read <= 2 * max(self.most, _LET_PASS):
                await self._part()

    async def _part(self) -> Message:
        async with asyncio.timeout_at(self._give_up):
            message = await self._receive()
        self._is_whole = not message.get("more_body", False)
        self._read += len(message.get("body", b""))
        return message
