"""What comes in without a client: the program's sources, and the folders of query files.

A source or a query file that cannot be read is reported and left out; the service goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections import deque
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import CompileError
from cqc.runtime.errors import LostSourceError, RunError
from cqc.runtime.serve.refusal import Refusal
from cqc.runtime.serve.registry import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from cqc.runtime.serve.live_program import LiveProgram
    from cqc.runtime.serve.query_folder import QueryFolder
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.source_feed import SourceFeed
    from cqc.runtime.serve.statements import Statement
    from cqc.runtime.serve.worker import Worker

LOOK_AGAIN_S = 0.25
FILES_FIRST_S = 10.0  # that rows of clients wait for the files of their stream, after a start
_KEPT_PROBLEMS = 20


class Feeding:
    """Reads sources and query folders, in the event loop's task `run`.

    Args:
        source: the files of streams.
        live: folders of the program itself.
        folders: folders of query files.
        report: told of every problem, once.
    """

    def __init__(
        self,
        source: SourceFeed,
        live: LiveProgram,
        folders: Sequence[QueryFolder],
        report: Callable[[str], None],
    ) -> None:
        self._source = source
        self._live = live
        self._folders = folders
        self._report = report
        self.engine = source.engine
        self._all_read = asyncio.Event()
        self.problems: deque[str] = deque(maxlen=_KEPT_PROBLEMS)

    @property
    def caught_up(self) -> bool:
        """Whether everything that was there at the start was read."""
        return self._all_read.is_set()

    async def files_first(self, stream: str, seconds: float = FILES_FIRST_S) -> None:
        """Wait until the files of a stream are read, but not for ever: rows of clients, which are newer, would make theirs late."""
        if stream in self._source.from_files and not self.caught_up:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._all_read.wait(), seconds)

    async def run(self, worker: Worker) -> None:
        """Look for new input for ever.

        Raises:
            LostSourceError: when none can come any more.
        """
        while True:
            await self.look_at_folders(worker)
            if not await self._read_batch(worker):
                self._all_read.set()
                if worker.service.has_idle_timeout:
                    await worker.change(lambda service: service.look_at_clock(), queue_anyway=True)
                await asyncio.sleep(LOOK_AGAIN_S)

    async def look_at_folders(self, worker: Worker) -> None:
        """Let changed query files take effect."""
        if await asyncio.to_thread(self._live.changed):
            await self._try(self._adopt_program(worker))
        for folder in self._folders:
            for file in await asyncio.to_thread(folder.changed):
                read = functools.partial(folder.statements, file)
                await self._try(self._adopt(worker, folder.owner(file), read))

    async def _try(self, work: Awaitable[None]) -> None:
        try:
            await work
        except (CompileError, Refusal, RunError) as error:
            self._tell(str(error))

    async def _adopt(self, worker: Worker, owner: str, read: Callable[[], list[Statement]]) -> None:
        statements = await asyncio.to_thread(read)
        views = self._live.views if owner == PROGRAM else None

        def adopt(service: Service) -> None:
            service.adopt(owner, statements, views)

        await worker.change(adopt, queue_anyway=True, what=f"the queries of {owner}")

    async def _adopt_program(self, worker: Worker) -> None:
        await self._adopt(worker, PROGRAM, self._live.statements)
        await asyncio.to_thread(self._live.keep)

    async def _read_batch(self, worker: Worker) -> bool:
        try:
            batch = await asyncio.to_thread(self._source.next_batch)
        except LostSourceError:
            raise
        except RunError as error:
            self._tell(str(error))
            return False
        finally:
            while self._source.notes:
                self._tell(self._source.notes.popleft())
        if batch is None:
            return False

        def push(service: Service) -> dict[str, int]:
            service.push(batch.rows, batch.ranges)
            return service.reached(batch.rows)

        self._source.reached(
            await worker.change(push, queue_anyway=True, what="rows of the program's sources")
        )
        return True

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
            self._report(problem)
