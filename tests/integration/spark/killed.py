"""`cqc` in a process that kills itself and all its children at a chosen point: the worst a crash can do, without a clock.

    python -m tests.integration.spark.killed POINT PASS ARGUMENT...

POINT is one of `POINTS`, and PASS says at which passing of it the kill comes.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

from cqc.cli.main import main
from cqc.runtime.run.durable import checkpoint
from cqc.runtime.run.durable import tuple_files as segments
from cqc.runtime.run.durable.checkpoint import Checkpoint
from cqc.runtime.sinks.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any


class Killer:
    """Counts the passings of a point."""

    def __init__(self, passes: int) -> None:
        self.left = passes

    def due(self) -> bool:
        self.left -= 1
        return self.left == 0

    def pass_by(self) -> None:
        if self.due():
            kill()


def kill() -> None:
    os.killpg(os.getpgrp(), signal.SIGKILL)


def before_the_commit(killer: Killer) -> None:
    """The results are written, and the micro-batch does not count yet."""
    commit = Checkpoint.commit

    def killed(self: Checkpoint, *given: Any) -> None:
        killer.pass_by()
        commit(self, *given)

    Checkpoint.commit = killed  # type: ignore[method-assign]  # that is the point


def inside_the_output(killer: Killer) -> None:
    """Half of a piece of results is written."""
    write = Output.write

    def killed(self: Output, data: bytes | memoryview) -> None:
        if self._path is not None and killer.due():
            write(self, memoryview(data)[: len(data) // 2])
            kill()
        write(self, data)

    Output.write = killed  # type: ignore[method-assign]  # that is the point


def inside_the_state(killer: Killer) -> None:
    """Half of the tuples' file is written."""
    write = segments.write_segment

    def killed(folder: Path, file: str, *given: Any) -> segments.Segment:
        written = write(folder, file, *given)
        if killer.due():
            os.truncate(folder / file, (folder / file).stat().st_size // 2)
            kill()
        return written

    checkpoint.write_segment = killed


def inside_the_checkpoint(killer: Killer) -> None:
    """Half of the commit's file is written, under its name aside."""
    write = checkpoint._write_whole

    def killed(path: Path, data: dict[str, Any]) -> None:
        if killer.due():
            path.with_suffix(".part").write_bytes(b'{"format": ')
            kill()
        write(path, data)

    checkpoint._write_whole = killed


def after_the_commit(killer: Killer) -> None:
    """The micro-batch counts, and nobody was told."""
    write = checkpoint._write_whole

    def killed(path: Path, data: dict[str, Any]) -> None:
        write(path, data)
        killer.pass_by()

    checkpoint._write_whole = killed


def while_printing(killer: Killer) -> None:
    """One of the pieces of a micro-batch that counts is printed."""
    from cqc.runtime.sinks.printed import Printed

    note = Printed._note

    def killed(self: Printed, count: int) -> None:
        note(self, count)
        killer.pass_by()

    Printed._note = killed  # type: ignore[method-assign]  # that is the point


POINTS: dict[str, Callable[[Killer], None]] = {
    place.__name__: place
    for place in (
        before_the_commit,
        inside_the_output,
        inside_the_state,
        inside_the_checkpoint,
        after_the_commit,
        while_printing,
    )
}


if __name__ == "__main__":
    POINTS[sys.argv[1]](Killer(int(sys.argv[2])))
    sys.argv = ["cqc", *sys.argv[3:]]
    main()
