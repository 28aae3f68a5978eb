"""How the server's event loop asks the one thread that owns the engine for something.

Requests that change something are answered after a commit; one commit serves all changes that were queued before it, so
that many clients together pay for one write to the disk.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from cqc.runtime.serve.engine_thread import EngineThread
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from cqc.runtime.serve.service import Service

T = TypeVar("T")


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

    async def ask(self, work: Callable[[Service], T], seconds: float | None = None) -> T:
        """Let the engine's thread do something that changes nothing.

        Raises:
            Refusal: when too many others wait, or it took longer than `seconds`.
        """
        future = self._submit(work, is_question=True)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), seconds)
        except TimeoutError as error:
            raise Refusal(
                Status.TOO_SLOW, f"no answer within {seconds:g} seconds; try again later"
            ) from error

    async def change(
        self, work: Callable[[Service], T], body_bytes: int = 0, *, queue_anyway: bool = False
    ) -> T:
        """Let the engine's thread change something, and wait until the change is durable.

        Args:
            work: what to do, in the engine's thread.
            body_bytes: how large the request is that asks for it.
            queue_anyway: for the service's own work, which waits for itself and must not be refused.

        Raises:
            Refusal: when too many others wait, or nothing can be written any more.
        """
        if self.waiting_bytes + body_bytes > self.service.limits.waiting_bytes:
            raise Refusal(Status.BUSY, "too many rows wait for the engine; try again later")
        self.waiting_bytes += body_bytes
        try:
            # Shielded: once it is queued it happens, also when the client hangs up, and then it is committed too.
            return await asyncio.shield(asyncio.ensure_future(self._change(work, queue_anyway)))
        finally:
            self.waiting_bytes -= body_bytes

    async def _change(self, work: Callable[[Service], T], queue_anyway: bool) -> T:
        changed = asyncio.wrap_future(
            self._submit(work, is_question=False, queue_anyway=queue_anyway)
        )
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
        self, work: Callable[[Service], T], *, is_question: bool, queue_anyway: bool = False
    ) -> Future[T]:
        if self.service.failure is not None:
            raise Refusal(Status.BUSY, self.service.failure)
        if self.waiting >= self.service.limits.waiting and not queue_anyway:
            raise Refusal(Status.BUSY, "too many requests wait for the engine; try again later")
        self.waiting += 1
        future = self._thread.submit(lambda: work(self.service), is_question=is_question)
        asyncio.wrap_future(future).add_done_callback(self._one_less)
        return future

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
