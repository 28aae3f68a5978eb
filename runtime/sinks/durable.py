"""Results whose length is known after each micro-batch, so that what never came to count can be cut off.

Lines and tables are appended to files that only grow; a checkpoint remembers how long they were, and a run that starts again
cuts them back. Parquet files cannot grow: each micro-batch has files of its own, under its number, which a repetition writes
over. What was printed on standard output cannot be taken back, unless it went to a file.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.output import Output, cannot_write, make_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.results import ResultBlock
    from cqc.runtime.sinks.protocol import Shape

STANDARD_OUTPUT = "-"
INODE = "-inode"  # which file standard output goes to


class Growing:
    """A file that only grows, and was `length` bytes long when it last counted."""

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self.length = length
        try:
            path.touch()
            if path.is_file():  # what went to a pipe or a device cannot be taken back
                os.truncate(path, min(length, path.stat().st_size))
        except OSError as error:
            raise cannot_write(path, error) from error
        self._output = Output(path, append=True)

    def append(self, data: bytes | memoryview) -> None:
        self._output.write(data)
        self.length += len(data)

    def sync(self) -> int:
        """Have everything on the disk; how long the file is now."""
        self._output.flush()
        try:
            if self.path.is_file():
                with self.path.open("rb") as file:
                    os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error
        return self.length

    def close(self) -> None:
        self._output.close()


class StandardOutput:
    """Standard output. Where it is appended to a file (`>> results.jsonl`), that can be cut back like any other.

    `mark` is what `sync` gave when the results last counted: which file it was (0: none), and how long.
    """

    def __init__(self, mark: tuple[int, int] | None) -> None:
        self.length = 0 if mark is None else 1  # something was printed before
        there = os.fstat(sys.stdout.fileno())
        self._inode = there.st_ino if stat.S_ISREG(there.st_mode) else 0
        if mark is not None and self._inode and mark[0] == self._inode and there.st_size > mark[1]:
            os.ftruncate(sys.stdout.fileno(), mark[1])
        self._output = Output(None)

    def append(self, data: bytes | memoryview) -> None:
        self._output.write(data)
        self.length += len(data)

    def sync(self) -> int:
        """Hand everything to the reader; how long the file is now."""
        self._output.flush()
        return os.fstat(sys.stdout.fileno()).st_size if self._inode else 0

    @property
    def inode(self) -> int:
        return self._inode

    def close(self) -> None:
        self._output.close()


class DurableSink:
    """Writes each micro-batch by the sink of its format into a folder aside, then adds that to the results.

    Args:
        kind: one of `SINKS`.
        out: a file or folder; None for standard output.
        aside: a folder for what is not complete.
        lengths: how long each file was when it last counted; empty for a new run.
        shapes: the result columns of the queries; None when queries may come and go.
    """

    def __init__(
        self,
        kind: str,
        out: str | None,
        aside: Path,
        lengths: Mapping[str, int],
        shapes: Mapping[str, Shape] | None,
    ) -> None:
        self._kind, self._shapes = kind, shapes
        self._aside = aside
        self._lengths = dict(lengths)
        self._files: dict[str, Growing | StandardOutput] = {}
        self._target = None if out is None else Path(out)
        if kind == "parquet" and out is None:
            raise RunError("--sink parquet needs --out: Parquet cannot go to standard output")
        self._is_folder = self._target is not None and (
            kind == "parquet"
            or self._target.is_dir()
            or str(out).endswith("/")
            or (kind == "csv" and not self._target.suffix)
        )
        if self._is_folder and self._target is not None:
            make_folder(self._target)
        for name in self._lengths:
            if name != INODE:
                self._growing(name)
        if kind not in ("none", "parquet") and not self._is_folder:
            self._growing(STANDARD_OUTPUT if self._target is None else self._target.name)

    def write(self, number: int, batches: Sequence[Sequence[ResultBlock]]) -> None:
        """Write the results of a micro-batch."""
        if self._kind == "none":
            return
        shutil.rmtree(self._aside, ignore_errors=True)
        make_folder(self._aside)
        headers = self._staged("header", [])
        for name, path in self._staged("rows", batches).items():
            if self._kind == "parquet":
                self._put_parquet(number, path, batches)
                continue
            self._append(name, path, headers.get(name))
        shutil.rmtree(self._aside, ignore_errors=True)

    def sync(self) -> dict[str, int]:
        """How long each file is, all of it safely written."""
        lengths = {name: file.sync() for name, file in self._files.items()}
        printed = self._files.get(STANDARD_OUTPUT)
        return lengths | {INODE: printed.inode} if isinstance(printed, StandardOutput) else lengths

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _staged(self, part: str, batches: Sequence[Sequence[ResultBlock]]) -> dict[str, Path]:
        """The files that a sink of the format makes of the results, by name."""
        folder = self._aside / part
        make_folder(folder)
        extension = {"jsonl": "jsonl", "csv": "csv", "parquet": "parquet"}.get(self._kind, "txt")
        place = f"{folder}/" if self._is_folder else str(folder / f"results.{extension}")
        sink = open_sink(self._kind, place, self._shapes)
        for blocks in batches:
            sink.write(blocks)
        sink.close()
        single = STANDARD_OUTPUT if self._target is None else self._target.name
        return {path.name if self._is_folder else single: path for path in sorted(folder.iterdir())}

    def _append(self, name: str, path: Path, header: Path | None) -> None:
        """Add a file to the results; its header only to a file that has none yet."""
        file = self._growing(name)
        data = path.read_bytes()
        skipped = header.stat().st_size if header is not None and file.length else 0
        if len(data) > skipped:
            file.append(data[skipped:])

    def _put_parquet(
        self, number: int, path: Path, batches: Sequence[Sequence[ResultBlock]]
    ) -> None:
        assert self._target is not None
        if not any(len(block) for blocks in batches for block in blocks):
            return
        try:
            with path.open("rb") as file:
                os.fsync(file.fileno())
            shutil.move(path, self._target / f"{path.stem}.{number:012d}.parquet")
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def _growing(self, name: str) -> Growing | StandardOutput:
        file = self._files.get(name)
        if file is not None:
            return file
        length = self._lengths.get(name)
        if name == STANDARD_OUTPUT:
            mark = None if length is None else (self._lengths.get(INODE, 0), length)
            self._files[name] = StandardOutput(mark)
        else:
            assert self._target is not None
            path = self._target / name if self._is_folder else self._target
            self._files[name] = Growing(path, length or 0)
        return self._files[name]
