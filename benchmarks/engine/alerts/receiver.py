"""A receiver of webhooks that takes everything as quickly as one process of Python can: `receiver`, which prints its port."""

from __future__ import annotations

import asyncio

_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
_LENGTH = b"content-length:"


class _Taking(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._waiting = b""

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            head = self._waiting[:end].lower()
            length = int(head.partition(_LENGTH)[2].split(b"\r\n", 1)[0])
            if len(self._waiting) < end + 4 + length:
                return
            self._waiting = self._waiting[end + 4 + length :]
            self._transport.write(_ANSWER)  # type: ignore[attr-defined]  # of a connection


async def _serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Taking, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(_serve())
