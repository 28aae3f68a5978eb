"""What comes in without a client: the program's sources, and the folders of query files.

A source or a query file that cannot be read is reported and left out; the service goes on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics import CompileError
from cqc.runtime.errors import RunError
from cqc.runtime.serve.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.runtime.serve.query_folder import QueryFolder
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.source_feed import SourceFeed
    from cqc.runtime.serve.worker import Worker

LOOK_AGAIN_S = 0.25
_KEPT_PROBLEMS = 20


class Feeding:
    """Reads sources and query folders, in the event loop's task `run`.

    Args:
        report: told of every problem, once.
    """

    def __init__(
        self, source: SourceFeed, folders: Sequence[QueryFolder], report: Callable[[str], None]
    ) -> None:
        self._source = source
        self._folders = folders
        self._report = report
        self.caught_up = False
        self.problems: deque[str] = deque(maxlen=_KEPT_PROBLEMS)

    async def run(self, worker: Worker) -> None:
        """Look for new input for ever."""
        while True:
            await self.look_at_folders(worker)
            if not await self._read_batch(worker):
                self.caught_up = True
                await asyncio.sleep(LOOK_AGAIN_S)

    async def look_at_folders(self, worker: Worker) -> None:
        """Let changed query files take effect."""
        for folder in self._folders:
            for file in await asyncio.to_thread(folder.changed):
                try:
                    await self._adopt(worker, folder, file)
                except (CompileError, Refusal, RunError) as error:
                    self._tell(str(error))

    async def _adopt(self, worker: Worker, folder: QueryFolder, file: str) -> None:
        statements = await asyncio.to_thread(folder.statements, file)

        def adopt(service: Service) -> None:
            service.adopt(folder.owner(file), statements)

        await worker.change(adopt, queue_anyway=True)

    async def _read_batch(self, worker: Worker) -> bool:
        try:
            rows, ranges = await asyncio.to_thread(self._source.read)
        except RunError as error:
            self._tell(str(error))
            return False
        if not ranges:
            return False
        await worker.change(lambda service: service.push(rows, ranges), queue_anyway=True)
        return True

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
            self._report(problem)
