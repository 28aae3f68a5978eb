"""How the server's event loop asks the one thread that owns the engine for something.

Requests that change something are answered after a commit; one commit serves all changes that were queued before it, so
that many clients together pay for one write to the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from cqc.runtime.errors import Halted
from cqc.runtime.serve.engine_thread import EngineThread
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from cqc.runtime.serve.service import Service

T = TypeVar("T")
_BUSY_S = 1.0  # one piece of work that takes longer is worth a word


@dataclass(frozen=True, slots=True)
class Busy:
    """What the engine's thread has been doing for a while."""

    what: str
    query: str  # the one that it is for, or mostly for; "" where that is not known
    seconds: float  # for how long; by a clock that nobody sets

    @property
    def since(self) -> float:
        """Seconds since the epoch."""
        return time.time() - self.seconds


class Held:
    """The bytes of one request: those of its body while it is received and read, then those of its rows."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._size = 0

    def become(self, size: int) -> None:
        """Count so many bytes.

        Raises:
            Refusal: when all requests together would hold too much.
        """
        most = self._worker.service.limits.waiting_bytes
        if size > most:
            raise Refusal(
                Status.TOO_LARGE,
                f"the rows take more than {most:,} bytes; send them in smaller parts",
            )
        together = self._worker.waiting_bytes + size - self._size
        if size > self._size and together > most:
            raise Refusal(Status.TOO_MANY, "too many rows wait for the engine; try again later")
        self._worker.waiting_bytes = together
        self._size = size

    def grow(self, more: int) -> None:
        """Count some bytes more.

        Raises:
            Refusal: when all requests together would hold too much.
        """
        self.become(self._size + more)


class Worker:
    """Asks the service from the server's event loop.

    Args:
        service: used by nobody else from now on.
        on_commit: called in the event loop when results may have become visible.
        on_failure: called in the event loop when nothing can be made durable any more.
    """

    def __init__(
        self,
        service: Service,
        on_commit: Callable[[], None],
        on_failure: Callable[[], None],
    ) -> None:
        self.service = service
        self._on_commit = on_commit
        self._on_failure = on_failure
        self._thread = EngineThread()
        self._next_commit: asyncio.Future[None] | None = None  # not submitted yet
        self._last_commit: asyncio.Future[None] | None = None
        self.waiting = 0
        self.waiting_bytes = 0
        self._working: tuple[str, float] | None = None  # at what, and since when

    @property
    def busy(self) -> Busy | None:
        """What the engine's thread does, when it takes more than a moment."""
        working = self._working
        seconds = 0.0 if working is None else time.monotonic() - working[1]
        if working is None or seconds < _BUSY_S:
            return None
        return Busy(working[0], self.service.engine.watch.busiest, seconds)

    async def ask(
        self,
        work: Callable[[Service], T],
        seconds: float | None = None,
        *,
        what: str = "a question",
    ) -> T:
        """Let the engine's thread do something that changes nothing.

        Raises:
            Refusal: when too many others wait, or it took longer than `seconds`.
        """
        future = self._submit(work, what, is_question=True)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as error:
            raise Refusal(
                Status.TOO_SLOW, f"no answer within {seconds:g} seconds; try again later"
            ) from error

    async def change(
        self,
        work: Callable[[Service], T],
        *,
        queue_anyway: bool = False,
        what: str = "a change",
        removing: str | None = None,
    ) -> T:
        """Let the engine's thread change something, and wait until the change is durable.

        Args:
            work: what to do, in the engine's thread.
            queue_anyway: for the service's own work, which waits for itself and must not be refused.
            what: in words, for those who ask why the engine is busy.
            removing: a query for which the engine need not go on with what it does, once this is queued.

        Raises:
            Refusal: when too many others wait, or nothing can be written any more.
        """
        # Shielded: once it is queued it happens, also when the client hangs up, and then it is committed too.
        changing = self._change(work, what, queue_anyway, removing)
        return await asyncio.shield(asyncio.ensure_future(changing))

    @contextlib.contextmanager
    def holding(self) -> Iterator[Held]:
        """What a request holds in memory until it is answered."""
        held = Held(self)
        try:
            yield held
        finally:
            held.become(0)

    async def _change(
        self, work: Callable[[Service], T], what: str, queue_anyway: bool, removing: str | None
    ) -> T:
        changed = asyncio.wrap_future(
            self._submit(work, what, is_question=False, queue_anyway=queue_anyway)
        )
        if removing is not None:
            self.service.drop(removing)
        committed = self._commit_after()
        try:
            return await changed
        finally:
            await committed

    def stop(self) -> None:
        """Finish what is queued, write everything down and end the thread."""
        closed = None
        if self.service.failure is None:
            closed = self._thread.submit(self.service.close, is_question=False)
        self._thread.stop()
        error = None if closed is None else closed.exception()
        if isinstance(error, OSError):
            self.service.failure = _cannot_write(error)
        elif error is not None:
            raise error

    def _submit(
        self,
        work: Callable[[Service], T],
        what: str,
        *,
        is_question: bool,
        queue_anyway: bool = False,
    ) -> Future[T]:
        if self.service.failure is not None:
            raise Refusal(Status.BUSY, self.service.failure)
        if self.waiting >= self.service.limits.waiting and not queue_anyway:
            raise Refusal(Status.BUSY, "too many requests wait for the engine; try again later")
        self.waiting += 1
        future = self._thread.submit(lambda: self._do(work, what), is_question=is_question)
        asyncio.wrap_future(future).add_done_callback(self._one_less)
        return future

    def _do(self, work: Callable[[Service], T], what: str) -> T:
        """In the engine's thread."""
        self._working = what, time.monotonic()
        try:
            return work(self.service)
        except Halted as error:
            self.service.is_interrupted = True
            raise Refusal(Status.BUSY, f"{error}; this was not done") from error
        finally:
            self._working = None

    def _one_less(self, future: asyncio.Future[T]) -> None:
        self.waiting -= 1
        if not future.cancelled():
            future.exception()  # whoever asked sees it; here it only counts as seen

    def _commit_after(self) -> asyncio.Future[None]:
        """The commit that includes everything submitted so far."""
        if self._next_commit is None:
            self._next_commit = asyncio.ensure_future(self._commit(self._last_commit))
        return asyncio.shield(self._next_commit)

    async def _commit(self, before: asyncio.Future[None] | None) -> None:
        if before is not None:  # whoever comes while that one is under way shares this one
            await asyncio.wait({before})
        # Changes are made in the order they were submitted: this commit has all up to here, and the next one needs another.
        self._last_commit, self._next_commit = self._next_commit, None
        done = asyncio.wrap_future(self._thread.submit(self.service.commit, is_question=False))
        try:
            await done
        except OSError as error:
            self.service.failure = _cannot_write(error)
            self._on_failure()
            raise Refusal(Status.BUSY, self.service.failure) from error
        self._on_commit()


def _cannot_write(error: OSError) -> str:
    return f"cannot write the checkpoint: {error.strerror or error}"
