"""A run that survives a crash: every micro-batch counts as a whole or not at all.

Results are written, then the checkpoint is committed with their length; a run that starts from the checkpoint cuts the
results back to that length, restores the engine, and asks for the micro-batch after the last one that counts.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import CompileError
from cqc.runtime.batch_run import BatchRun
from cqc.runtime.checkpoint import Checkpoint, Commit
from cqc.runtime.engine_state import restore, save, without_gone
from cqc.runtime.program_book import keep_program
from cqc.runtime.query_set import QuerySet, texts_of
from cqc.runtime.same_program import check_program, of_another_program, schema_of
from cqc.runtime.sinks.durable import DurableSink
from cqc.runtime.sinks.output import cannot_write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler import Program
    from cqc.runtime.options import RunOptions
    from cqc.runtime.packet import Packet
    from cqc.runtime.plan import Positions
    from cqc.runtime.program_book import Sources
    from cqc.runtime.range import Range
    from cqc.runtime.sinks.protocol import Shape


class DurableRun(BatchRun):
    """Pushes ranges into the engine and commits each micro-batch.

    Raises:
        RunError: when the checkpoint cannot be read or written, or belongs to another program.
    """

    def __init__(self, program: Program, options: RunOptions) -> None:
        assert options.checkpoint is not None
        self._checkpoint = Checkpoint(options.checkpoint)
        try:
            self._last = self._checkpoint.last()
            self._number = -1
            self._tuples: dict[str, Packet] = {}
            self._idle = True  # nothing has come since the start
            if self._last is not None:
                self._number = self._last.number
                check_program(program, self._last, self._checkpoint.folder)
                # Before anything is cut back: a checkpoint that cannot be read leaves the results as they are.
                self._tuples = self._checkpoint.tuples(self._last, program.catalog.relations)
            self._read_before = self._checkpoint.positions(self._last)
            for path in (options.rejects, options.late):
                if path is not None:
                    _cut(Path(path), 0 if self._last is None else self._last.outputs.get(path, 0))
            super().__init__(program, options)
            if self._live is not None and options.sources:
                self._in_force = list(options.sources)
        except BaseException:
            self._checkpoint.close()
            raise

    def read_tables(self) -> None:
        """Fill the tables, and bring the engine to where the last commit left it."""
        super().read_tables()
        if self._last is None:
            return
        wanted = texts_of(self._program, self._options.only)
        state = without_gone(self._last.engine, wanted)
        try:
            restore(self.engine, state, self._tuples)
            self._queries = QuerySet(self.engine, state.queries)
            self._queries.change_to(wanted)
        except CompileError as error:
            raise of_another_program(
                self._checkpoint.folder, str(error).partition("\n")[0]
            ) from error
        self._tuples.clear()  # the engine has them
        self._latest_us = dict(self._last.latest_us)

    def next_ranges(self) -> list[Range]:
        """What the next micro-batch reads."""
        ranges = super().next_ranges()
        self._checkpoint.note(ranges)
        return ranges

    def _count(self, ranges: Sequence[Range]) -> None:
        """Make a micro-batch count."""
        del ranges  # the checkpoint has noted them
        self._idle = False
        self._commit(ended=False)

    def end_of_input(self) -> None:
        """Deliver what only the end decides, once."""
        if self._idle and self._last is not None and self._last.ended:
            return
        super().end_of_input()
        self._commit(ended=True)

    def _commit(self, *, ended: bool) -> None:
        self._number += 1
        outputs = self._durable.keep(self._number)
        for path in (self._options.rejects, self._options.late):
            if path is not None:
                outputs[path] = Path(path).stat().st_size
        commit = Commit(
            self._number,
            save(self.engine, self._queries.running),
            schema_of(self._catalog),
            {},
            self._latest_us,
            outputs,
            ended,
        )
        self._checkpoint.commit(commit, self.engine, self._planner)
        self._durable.counted(self._number)
        if self._in_force is not None:
            self._keep_program(self._in_force)
            self._in_force = None

    def _keep_program(self, sources: Sources) -> None:
        try:
            keep_program(self._checkpoint.folder, sources)
        except OSError as error:
            raise cannot_write(self._checkpoint.folder, error) from error

    def _positions_before(self) -> Positions:
        return self._read_before

    def _open_sink(self, shapes: Mapping[str, Shape] | None) -> None:
        self._durable = DurableSink(
            self._options.sink,
            self._options.out,
            self._checkpoint.folder,
            self._number,
            self._lengths(),
            None if self._options.follow else shapes,
        )

    def _lengths(self) -> dict[str, int]:
        """How long the files of results were at the last commit."""
        if self._last is None:
            return {}
        beside = (self._options.rejects, self._options.late)
        return {name: length for name, length in self._last.outputs.items() if name not in beside}

    def _close_sink(self) -> None:
        self._checkpoint.close()
        self._durable.close()

    def _write(self) -> None:
        batches = list(self.engine.drain_blocks())
        if batches:
            self._durable.write(self._number + 1, batches)


def _cut(path: Path, length: int) -> None:
    """Make a file as long as it was when it last counted."""
    try:
        path.touch()
        os.truncate(path, min(length, path.stat().st_size))
    except OSError as error:
        raise cannot_write(path, error) from error
