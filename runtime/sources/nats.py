"""Subjects of a NATS server, by `nats-py` (the extra `nats`).

    WITH (format = 'nats', address = 'server:4222', topic = 'plant.*.heat', value = 'json')
    WITH (format = 'nats', address = 'server:4222', topic = 'plant.*.heat', durable = 'cqc')

A message is a row. NATS by itself keeps nothing for those who are not there; with `durable`, the name of a consumer, rows are read from
JetStream, which keeps them until they are acknowledged, and that is when they are kept here (`spooled`). The stream has no end.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import TYPE_CHECKING, Any

from cqc.runtime.sources.broker_address import PATIENCE_S, BrokerAddress
from cqc.runtime.sources.line_form import LineForm
from cqc.runtime.sources.spooled import SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier, Piece

_AT_ONCE = 1_000
_LOOK_S = 0.2


class NatsFeed(SpooledFeed):
    """The feed of a stream whose rows are messages of a NATS server.

    Raises:
        RunError: when the server cannot be reached, or does not let us read.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        spool: Path | None,
        *,
        done: Mapping[str, Place],
        warn: Callable[[str], None],
    ) -> None:
        super().__init__(name, relation, NatsMessages(relation, warn), spool, done=done)


class NatsMessages:
    """Messages as they come. The event loop of the client runs while they are waited for.

    Raises:
        RunError: when the server cannot be reached, or does not let us read.
    """

    def __init__(self, relation: Relation, warn: Callable[[str], None]) -> None:
        self._address = BrokerAddress(relation, 4222)
        try:
            import nats
        except ImportError as error:
            raise self._address.missing("cqc[nats]") from error
        self._durable = self._address.options.get("durable")
        self.answers = self._durable is not None
        self._form = LineForm(relation)
        self._warn = warn
        self._came: list[bytes] = []
        self._closed = threading.Event()
        self._failures = (nats.errors.Error, OSError, asyncio.TimeoutError)
        self._connection: Any = None
        self._loop = asyncio.new_event_loop()
        try:
            # Its client would try for ever where nobody listens.
            socket.create_connection((self._address.host, self._address.port), PATIENCE_S).close()
            self._run(asyncio.wait_for(self._connect(), PATIENCE_S))
        except self._failures as error:
            self._run(self._ended())
            self._loop.close()
            raise self._address.cannot_read(str(error) or "it does not answer") from error

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """Messages, some at a time; those of JetStream are acknowledged when they are kept."""
        del earlier  # what is kept, the server knows
        try:
            while not self._closed.is_set():
                if self._durable is None:
                    self._run(asyncio.sleep(_LOOK_S if not self._came else 0))
                    came, self._came = self._came, []
                    if came:
                        yield self._form.messages(came)
                    continue
                messages = self._run(self._fetched())
                if messages:
                    yield self._form.messages(message.data for message in messages)
                    self._run(_acknowledged(messages))
        except self._failures as error:
            if not self._closed.is_set():
                raise self._address.cannot_read(str(error) or type(error).__name__) from error
        finally:
            self._run(self._ended())
            self._loop.close()

    def close(self) -> None:
        """Let the reading end."""
        self._closed.set()

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    async def _connect(self) -> None:
        import nats

        async def came(message: Any) -> None:
            self._came.append(message.data)

        async def broke() -> None:
            if not self._closed.is_set():
                self._warn(self._address.has_gone())

        self._connection = await nats.connect(
            f"nats://{self._address.host}:{self._address.port}",
            user=self._address.user,
            password=self._address.password,
            max_reconnect_attempts=-1,
            disconnected_cb=broke,
            error_cb=_ignore,
        )
        if self._durable is None:
            await self._connection.subscribe(self._address.topic, cb=came)
            await self._connection.flush()
        else:
            self._subscription = await self._connection.jetstream().pull_subscribe(
                self._address.topic, self._durable
            )

    async def _ended(self) -> None:
        """Let go of the connection, and of what its client still does."""
        if self._connection is not None:
            await self._connection.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _fetched(self) -> list[Any]:
        try:
            found: list[Any] = await self._subscription.fetch(_AT_ONCE, timeout=_LOOK_S)
        except self._failures:  # nothing came, or the connection is being made again
            await asyncio.sleep(_LOOK_S if not self._connection.is_connected else 0)
            return []
        return found


async def _acknowledged(messages: list[Any]) -> None:
    for message in messages:
        await message.ack()


async def _ignore(error: Exception) -> None:
    """What breaks is told where it breaks, and connected again."""
