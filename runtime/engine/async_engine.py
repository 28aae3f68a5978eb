"""The engine for asyncio: the same calls, awaited, made by one thread of its own so that the event loop goes on.

async with cqc.AsyncEngine(program) as engine:
    await engine.push("readings", rows)
    async for result in engine.results():   # as they are found, until the engine is closed
        ...
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from cqc.runtime.engine.engine import Engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from types import TracebackType
    from typing import Self

    from cqc.compiler import Program
    from cqc.runtime.deliver.results import Result
    from cqc.runtime.engine.frames import Form
    from cqc.runtime.engine.query_book import QueryHandle

R = TypeVar("R")


class AsyncEngine:
    """A `cqc.Engine` whose calls are awaited.

    Calls are made one after the other in the order in which they were begun, by a thread of the engine's own. A task that is
    cancelled while it waits stops waiting; a call that has begun is finished, so that a micro-batch is taken whole or not at all.

    Args:
        program: what `cqc.compile` gave.
        options: keyword arguments of `cqc.Engine`.

    Example:
        >>> import asyncio, cqc
        >>> program = cqc.compile("CREATE STREAM s (ts BIGINT, x BIGINT); SELECT x FROM s WHERE x > 1")
        >>> async def main():
        ...     async with cqc.AsyncEngine(program) as engine:
        ...         await engine.push("s", [{"ts": 1, "x": 1}, {"ts": 2, "x": 2}])
        ...         return [result.row for result in await engine.drain()]
        >>> asyncio.run(main())
        [{'x': 2}]
    """

    def __init__(self, program: Program, **options: Any) -> None:
        self.engine = Engine(program, **options)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cqc-engine")
        self._changed = asyncio.Condition()
        self._changes = 0
        self._closed = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def push(self, stream: str, rows: Any) -> None:
        """Give the engine rows of one stream or table; see `cqc.Engine.push`."""
        await self._call(self.engine.push, stream, rows)
        await self._tell()

    async def push_batch(self, rows: Mapping[str, Any]) -> None:
        """Give the engine one micro-batch of several streams."""
        await self._call(self.engine.push_batch, rows)
        await self._tell()

    async def finish(self) -> None:
        """The input has ended: what only the end decides is found."""
        await self._call(self.engine.finish)
        await self._tell()

    async def drain(self, *, to: Form | None = None) -> Any:
        """The results found so far, as a list, or with `to` as a frame for each query; see `cqc.Engine.drain`."""
        if to is None:
            return await self._call(lambda: list(self.engine.drain()))
        return await self._call(partial(self.engine.drain, to=to))

    async def results(self) -> AsyncIterator[Result]:
        """Results as they are found, in order, until the engine is closed; each goes to one of those who ask."""
        while True:
            ended, seen = self._closed, self._changes
            for result in await asyncio.to_thread(lambda: list(self.engine.drain())):
                yield result
            if ended:
                return
            async with self._changed:
                await self._changed.wait_for(partial(self._has_changed_since, seen))

    async def register(self, text: str, name: str | None = None) -> QueryHandle:
        """Add a query while the engine runs; see `cqc.Engine.register`."""
        return await self._call(self.engine.register, text, name)

    async def unregister(self, query: QueryHandle | str) -> None:
        """Remove a query and what only it used."""
        await self._call(self.engine.unregister, query)

    async def invoke(self, query: QueryHandle | str, at: Any = None, *, to: Form = "arrow") -> Any:
        """The value of a pull query now, or at an instant; see `cqc.Engine.invoke`."""
        return await self._call(partial(self.engine.invoke, query, at, to=to))

    async def close(self) -> None:
        """Take nothing more. Calls that were begun are made first; who waits in `results` gets what is left."""
        if self._closed:
            return
        await self._call(self.engine.close)
        self._closed = True
        self._thread.shutdown(wait=False)
        await self._tell()

    def _has_changed_since(self, seen: int) -> bool:
        return self._changes != seen

    async def _tell(self) -> None:
        """Wake those who wait for results."""
        async with self._changed:
            self._changes += 1
            self._changed.notify_all()

    async def _call(self, function: Callable[..., R], *arguments: Any) -> R:
        if self._closed:
            return function(*arguments)  # says that it is closed, or gives what is left
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, partial(function, *arguments))
