"""Results whose length is known after each micro-batch, so that what never came to count can be cut off.

Lines and tables are appended to files that only grow; a checkpoint remembers how long they were, and a run that starts again
cuts them back. Parquet files cannot grow: each micro-batch has files of its own, under its number, and those of one that does
not count are removed. What goes to standard output or a pipe is printed when its micro-batch counts.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.output import Output, cannot_write, make_folder
from cqc.runtime.sinks.printed import Printed
from cqc.runtime.sinks.query_files import file_of_query
from cqc.runtime.sinks.table import TableFolderSink, TableSink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.results import ResultBlock
    from cqc.runtime.sinks.protocol import Shape

STANDARD_OUTPUT = "-"
_EXTENSIONS = {"jsonl": "jsonl", "csv": "csv", "parquet": "parquet", "table": "txt"}
_OF_A_BATCH = re.compile(r"\.(\d{12})\.parquet$")


class Growing:
    """A file that only grows, and was `length` bytes long when it last counted."""

    def __init__(self, path: Path, length: int) -> None:
        self.path = path
        self.length = length
        try:
            path.touch()
            os.truncate(path, min(length, path.stat().st_size))
        except OSError as error:
            raise cannot_write(path, error) from error
        self._is_kept = False

    def append(self, data: bytes | memoryview) -> None:
        # Opened each time: a folder has a file for each query, which may be more than a process may keep open.
        output = Output(self.path, append=True)
        output.write(data)
        output.close()
        self.length += len(data)
        self._is_kept = False

    def keep(self, number: int) -> int:
        """Have everything on the disk before a micro-batch counts; how long the file is now."""
        del number
        if self._is_kept:
            return self.length
        try:
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from error
        self._is_kept = True
        return self.length

    def close(self) -> None:
        """Nothing is open between two micro-batches."""


class DurableSink:
    """Writes each micro-batch by the sink of its format into a folder aside, then adds that to the results.

    Args:
        kind: one of `SINKS`.
        out: a file or folder; None for standard output.
        folder: the folder of the checkpoint, for what is not complete.
        number: the micro-batch that counted last; -1 for a new run.
        lengths: how long each file was then.
        shapes: the result columns of the queries; None when queries may come and go.
    """

    def __init__(
        self,
        kind: str,
        out: str | None,
        folder: Path,
        number: int,
        lengths: Mapping[str, int],
        shapes: Mapping[str, Shape] | None,
    ) -> None:
        self._kind, self._shapes = kind, shapes
        self._folder, self._aside = folder, folder / "aside"
        self._number = number
        self._lengths = dict(lengths)
        self._files: dict[str, Growing | Printed] = {}
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
        if kind == "parquet" and self._target is not None:
            _remove_after(self._target, number)
        for name in self._lengths:
            self._opened(name)
        if kind in ("jsonl", "table") and self._is_folder and number < 0:
            for query in shapes or ():  # else what an earlier run found would stand for its results
                self._opened(file_of_query(Path(), query, _EXTENSIONS[kind]).name)
        if kind not in ("none", "parquet") and not self._is_folder:
            self._opened(STANDARD_OUTPUT if self._target is None else self._target.name)

    def write(self, number: int, batches: Sequence[Sequence[ResultBlock]]) -> None:
        """Write the results of a micro-batch."""
        if self._kind == "none":
            return
        shutil.rmtree(self._aside, ignore_errors=True)
        make_folder(self._aside)
        headers = self._staged("header", []) if self._kind == "csv" else {}
        for name, path in self._staged("rows", batches).items():
            if self._kind == "parquet":
                self._put_parquet(number, path, batches)
                continue
            self._append(name, path, headers.get(name))
        shutil.rmtree(self._aside, ignore_errors=True)

    def keep(self, number: int) -> dict[str, int]:
        """Have the results of a micro-batch safe, before it counts; how long each file is."""
        return {name: file.keep(number) for name, file in self._files.items()}

    def counted(self, number: int) -> None:
        """Print the results of a micro-batch that counts now."""
        for file in self._files.values():
            if isinstance(file, Printed):
                file.print(number)

    def close(self) -> None:
        for file in self._files.values():
            file.close()

    def _staged(self, part: str, batches: Sequence[Sequence[ResultBlock]]) -> dict[str, Path]:
        """The files that a sink of the format makes of the results, by name."""
        folder = self._aside / part
        make_folder(folder)
        extension = _EXTENSIONS[self._kind]
        place = f"{folder}/" if self._is_folder else str(folder / f"results.{extension}")
        # Headers and Parquet's types are there from the start, other files when there is something in them.
        shapes = self._shapes if self._kind in ("csv", "parquet") else None
        sink = open_sink(self._kind, place, shapes)
        for blocks in batches:
            sink.write(blocks)
        if isinstance(sink, TableSink | TableFolderSink):
            sink.abandon()  # a micro-batch without results does not say that there are none
        else:
            sink.close()
        single = STANDARD_OUTPUT if self._target is None else self._target.name
        return {path.name if self._is_folder else single: path for path in sorted(folder.iterdir())}

    def _append(self, name: str, path: Path, header: Path | None) -> None:
        """Add a file to the results; its header only to a file that has none yet."""
        file = self._opened(name)
        data = path.read_bytes()
        skipped = header.stat().st_size if header is not None and file.length else 0
        if len(data) > skipped:
            if self._kind == "table" and file.length:
                file.append(b"\n")  # between two tables
            file.append(data[skipped:])

    def _put_parquet(
        self, number: int, path: Path, batches: Sequence[Sequence[ResultBlock]]
    ) -> None:
        assert self._target is not None
        if not any(len(block) for blocks in batches for block in blocks):
            return
        name = f"{path.stem}.{number:012d}.parquet"
        aside = (
            self._target / f".{name}.part"
        )  # beside its place: only there renaming is all or nothing
        try:
            _move(path, aside)
            with aside.open("rb") as file:
                os.fsync(file.fileno())
            aside.replace(self._target / name)
        except OSError as error:
            raise cannot_write(self._target, error) from error

    def _opened(self, name: str) -> Growing | Printed:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = self._open(name, self._lengths.get(name, 0))
        return file

    def _open(self, name: str, length: int) -> Growing | Printed:
        path = self._target
        if path is not None and self._is_folder:
            path /= name
        if path is not None and (path.is_file() or not path.exists()):
            return Growing(path, length)
        output = Output(path, append=True)  # what goes there cannot be taken back
        return Printed(output, self._folder / "printing", self._number, length)


def _remove_after(folder: Path, number: int) -> None:
    """Remove the Parquet files of micro-batches that never came to count."""
    try:
        for file in folder.iterdir():
            found = _OF_A_BATCH.search(file.name.removesuffix(".part"))
            if found and (int(found[1]) > number or file.suffix == ".part"):
                file.unlink()
    except OSError as error:
        raise cannot_write(folder, error) from error


def _move(path: Path, to: Path) -> None:
    """Move a file, also from one disk to another."""
    try:
        path.replace(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(path, to)
