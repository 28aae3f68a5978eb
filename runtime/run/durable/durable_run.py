"""A run that survives a crash: every micro-batch counts as a whole or not at all.

Results are written, then the checkpoint is committed with their length; a run that starts from the checkpoint cuts the
results back to that length, restores the engine, and asks for the micro-batch after the last one that counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler import CompileError
from cqc.runtime.engine.snapshot import Snapshot
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.declared_sinks import DeclaredSinks
from cqc.runtime.run.durable.checkpoint import Checkpoint, Commit
from cqc.runtime.run.durable.checkpoint_compatibility import (
    check_program,
    of_another_program,
    schema_of,
)
from cqc.runtime.run.durable.program_book import keep_program
from cqc.runtime.run.durable.recovery import recover
from cqc.runtime.run.query_set import QuerySet, texts_of
from cqc.runtime.sinks.durable import DurableSink
from cqc.runtime.sinks.growing import Growing, Known, check, leave
from cqc.runtime.sinks.output import cannot_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from cqc.compiler import Program
    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.driver import MicroBatch
    from cqc.runtime.run.durable.program_book import Sources
    from cqc.runtime.run.input_plan import Positions
    from cqc.runtime.sinks.output import Output
    from cqc.runtime.sinks.protocol import Shape
    from cqc.runtime.sources.range import Range

_RESULTS = "results:"  # in the names of outputs


class DurableRun(BatchRun):
    """Pushes ranges into the engine and commits each micro-batch.

    Raises:
        RunError: when the checkpoint cannot be read or written, or belongs to another program.
    """

    _may_go_back = True  # to the commit before the last, when that is damaged

    def __init__(self, program: Program, options: RunOptions) -> None:
        assert options.checkpoint is not None
        self._checkpoint = Checkpoint(options.checkpoint)
        try:
            # Before anything is cut back: a checkpoint that cannot be read leaves the results as they are.
            found = recover(
                self._checkpoint,
                program.catalog.relations,
                lambda commit: check_program(program, commit, self._checkpoint.folder),
                may_go_back=self._may_go_back,
            )
            self._last, self._tuples, self._read_before = (
                found.commit,
                found.tuples,
                found.positions,
            )
            self._number = -1 if self._last is None else self._last.number
            self._idle = True  # nothing has come since the start
            self._beside: dict[str, Growing] = {}  # files of rows that are left out
            for name, path in _files_beside(options).items():
                if name in self._known() and _can_be_cut(path):
                    check(path, self._known()[name], f"--{name}")
            super().__init__(program, options)
            if self._live is not None and options.sources:
                self._in_force = list(options.sources)
            for name in {"rejects", "late"} & self._known().keys() - self._beside.keys():
                leave(self._known()[name])
        except BaseException:
            self._checkpoint.close()
            raise

    def read_tables(self) -> None:
        """Fill the tables, and bring the engine to where the last commit left it."""
        super().read_tables()
        if self._last is None:
            return
        wanted = texts_of(self._program, self._options.only)
        state = self._last.engine.without_gone(wanted)
        try:
            self.engine.restore(Snapshot(state, self._tuples))
            self._queries = QuerySet(self.engine, state.queries)
            self._queries.change_to(wanted)
        except CompileError as error:
            raise of_another_program(
                self._checkpoint.folder, str(error).partition("\n")[0]
            ) from error
        self._tuples.clear()  # the engine has them
        self._driver.reached_us = dict(self._last.latest_us)

    def next_ranges(self) -> list[Range]:
        """What the next micro-batch reads."""
        ranges = super().next_ranges()
        self._checkpoint.note(ranges)
        return ranges

    def count(self, batch: MicroBatch) -> None:
        """Make a micro-batch count; the checkpoint has noted what it read."""
        self._idle = False
        self._commit(ended=False)
        super().count(batch)

    def count_end(self) -> None:
        """Make the end of the input count."""
        self._commit(ended=True)

    def end_of_input(self) -> None:
        """Deliver what only the end decides, once."""
        if self._idle and self._last is not None and self._last.ended:
            return
        super().end_of_input()

    def _commit(self, *, ended: bool) -> None:
        self._number += 1
        outputs = {
            **{
                f"{_RESULTS}{name}": each for name, each in self._durable.keep(self._number).items()
            },
            **{name: file.keep(self._number) for name, file in self._beside.items()},
        }
        self._sinks.keep()
        snapshot = self.engine.snapshot(since=self._checkpoint.written)
        commit = Commit(
            self._number,
            snapshot.state,
            schema_of(self._catalog),
            {},
            self._driver.reached_us,
            outputs,
            ended,
            sinks=self._sinks.to_json(),
        )
        self._checkpoint.commit(commit, snapshot.tuples, self._planner)
        self._durable.counted(self._number)
        self._sinks.counted()
        if self._in_force is not None:
            self._keep_program(self._in_force)
            self._in_force = None

    def _open_sinks(self) -> None:
        self._sinks = DeclaredSinks(
            self.engine,
            self._options,
            self._catalog.sinks,
            folder=self._checkpoint.folder / "sinks",
            counts={} if self._last is None else self._last.sinks,
        )

    def _keep_program(self, sources: Sources) -> None:
        try:
            keep_program(self._checkpoint.folder, sources)
        except OSError as error:
            raise cannot_write(self._checkpoint.folder, error) from error

    @property
    def rows_before(self) -> int:
        return (
            0 if self._last is None else sum(each.read for each in self._last.engine.lines.values())
        )

    def _positions_before(self) -> Positions:
        return self._read_before

    def _open_sink(self, shapes: Mapping[str, Shape] | None) -> None:
        self._durable = DurableSink(
            self._options.sink,
            self._options.out,
            self._checkpoint.folder,
            self._number,
            {
                name.removeprefix(_RESULTS): known
                for name, known in self._known().items()
                if name.startswith(_RESULTS)
            },
            None if self._options.follow else shapes,
        )

    def _known(self) -> dict[str, Known]:
        """What the files of results were at the last commit."""
        return {} if self._last is None else self._last.outputs

    def _open_beside(self, name: str, path: Path) -> Output | Growing:
        if not _can_be_cut(path):
            return super()._open_beside(name, path)
        opened = self._beside[name] = Growing(path, self._known().get(name), f"--{name}")
        return opened

    def _close_sink(self) -> None:
        self._checkpoint.close()
        self._durable.close()

    def deliver(self, batch: MicroBatch, results: Iterable[list[ResultBlock]]) -> None:
        """Write results under the number that their micro-batch will have."""
        del batch
        found = [rest for blocks in results if (rest := self._sinks.write(blocks))]
        if found:
            self._durable.write(self._number + 1, found)


def _files_beside(options: RunOptions) -> dict[str, Path]:
    """The files of rows that are left out, by the option that names them."""
    given = {"rejects": options.rejects, "late": options.late}
    return {name: Path(path) for name, path in given.items() if path is not None}


def _can_be_cut(path: Path) -> bool:
    """Whether it is a file, or will be one: what goes to a device or a pipe cannot be taken back."""
    return path.is_file() or not path.exists()
