"""Results as server-sent events, each with an id from which a watcher can go on after a disconnect.

    id: 65f1c2a0-17
    event: result
    data: {"query": "wrong_way", "ts": "2024-01-01T08:03:11Z", "row": {...}}

A watcher may ask for at most so many results a second; it gets the latest, and an event `skipped` tells how many came before them.

Other events: `gap` (the results between the watcher's last id and what follows are no longer kept), `dropped` (the watcher
read so slowly that its place was forgotten; the connection ends), `end` (the query was unregistered).
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from starlette.responses import Response

from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.types import Receive, Scope, Send

    from cqc.runtime.serve.records.result_log import ResultLog

_SILENCE_S = 15.0  # then a comment is sent, so that a connection that broke is noticed
_PAGE = 500
_SAMPLE_S = 1.0  # between two looks of a watcher that wants only so many a second


@dataclass(frozen=True, slots=True)
class Place:
    """Where a watcher begins: a result number, and whether results before it are missing."""

    number: int
    missed_from: int | None = None


class Watchers:
    """Everybody who is waiting for results. Used in the event loop only."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._bells: set[asyncio.Event] = set()
        self.closing = False
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._bells)

    def join(self) -> asyncio.Event:
        """A bell that rings when there may be results.

        Raises:
            Refusal: when there are too many watchers.
        """
        if len(self._bells) >= self._most:
            raise Refusal(Status.BUSY, f"there are {self._most:,} watchers already")
        bell = asyncio.Event()
        self._bells.add(bell)
        return bell

    def leave(self, bell: asyncio.Event) -> None:
        self._bells.discard(bell)

    def ring(self) -> None:
        """Wake everybody."""
        for bell in self._bells:
            bell.set()

    def close(self) -> None:
        """The service stops: everybody is sent what there is, and then the end."""
        self.closing = True
        self.ring()


def find_place(log: ResultLog, epoch: str, last_id: str | None, since: str | None) -> Place:
    """Where a watcher begins.

    Args:
        log: the results that are kept.
        epoch: what the ids of this service begin with.
        last_id: the Last-Event-ID header of a watcher that comes back.
        since: `now`, `start`, or the id of the last result seen.

    Raises:
        Refusal: for an id that was never given.
    """
    given = last_id or since or "now"
    if given == "now":
        return Place(log.next_number)
    oldest = log.oldest
    if given == "start":
        return Place(oldest)
    of_epoch, _, digits = given.rpartition("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Refusal(Status.INVALID, f"{given!r} is no id of a result; use now, start or an id")
    if of_epoch != epoch:
        return Place(oldest, missed_from=0)
    number = min(int(digits) + 1, log.next_number)
    return Place(number) if number >= oldest else Place(oldest, missed_from=number)


async def events(
    log: ResultLog,
    epoch: str,
    watchers: Watchers,
    bell: asyncio.Event,
    place: Place,
    query: int | None,
    end_of: Callable[[], dict[str, str] | None],
    most: int | None = None,
) -> AsyncIterator[bytes]:
    """The events of one watcher, for ever or until the query has gone; `most`: not more results a second than this."""
    at = place.number
    # An id without data: a watcher that loses its connection before the first result knows where it was, too.
    yield b"retry: 1000\nid: %s-%d\n\n" % (epoch.encode(), at - 1)
    if place.missed_from is not None:
        yield _event("gap", {"missed_from": place.missed_from, "next": at}, None)
    while True:
        bell.clear()
        end = {"reason": "stopped"} if watchers.closing else end_of()
        if most is not None:
            at, skipped = log.skip(max(at, log.oldest), query, most)
            if skipped:
                yield _event("skipped", {"count": skipped}, f"{epoch}-{at - 1}")
        page = log.read(at, query, most or _PAGE)
        if page.lost and most is None:
            watchers.dropped += 1
            yield _event("dropped", {"reason": "results were read too slowly"}, None)
            return
        at = page.next
        if page.lines:
            yield b"".join(
                b"id: %s-%d\nevent: result\ndata: %s\n\n" % (epoch.encode(), number, line)
                for number, line in page.lines
            )
            if most is not None:
                await asyncio.sleep(_SAMPLE_S)
        elif end is not None:
            yield _event("end", end, None)
            return
        else:
            # The place moves on also where nothing was for this watcher, so that it is not thought slow.
            comment = await _wait(bell)
            if comment:
                yield comment


async def _wait(bell: asyncio.Event) -> bytes:
    try:
        await asyncio.wait_for(bell.wait(), _SILENCE_S)
    except TimeoutError:
        return b": still here\n\n"
    return b""


def _event(kind: str, data: Mapping[str, object], identifier: str | None) -> bytes:
    head = "" if identifier is None else f"id: {identifier}\n"
    return f"{head}event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


class EventResponse(Response):
    """Sends events until they end, the watcher leaves, or it has not read what was sent for too long."""

    media_type = "text/event-stream"

    def __init__(
        self, body: AsyncIterator[bytes], seconds: float, on_end: Callable[[bool], None]
    ) -> None:
        super().__init__()
        self._body = body
        self._seconds = seconds
        self._on_end = on_end
        self.headers["cache-control"] = "no-store"
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sending = asyncio.ensure_future(self._send_all(send))
        leaving = asyncio.ensure_future(_disconnect(receive))
        stuck = False
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                stuck = sending.result()
        finally:
            for task in (sending, leaving):
                task.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            self._on_end(stuck)

    async def _send_all(self, send: Send) -> bool:
        """Whether the watcher is stuck."""
        await send(
            {
                "type": "http.response.start",
                "status": self.status_code,
                "headers": self.raw_headers,
            }
        )
        try:
            async for chunk in self._body:
                message = {"type": "http.response.body", "body": chunk, "more_body": True}
                await asyncio.wait_for(send(message), self._seconds)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            return True
        return False


async def _disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
