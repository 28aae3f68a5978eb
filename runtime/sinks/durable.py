"""Results whose length is known after each micro-batch, so that what never came to count can be cut off.

Lines and tables are appended to files that only grow; a checkpoint remembers how long they were, and a run that starts again
cuts them back (`growing.py`). Parquet files cannot grow: each micro-batch has files of its own, under its number
(`parquet_batches.py`). What goes to standard output or a pipe is printed when its micro-batch counts (`printed.py`).
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder
from cqc.runtime.options import SINKS
from cqc.runtime.sinks import open_sink
from cqc.runtime.sinks.growing import Growing, Known, check, leave
from cqc.runtime.sinks.output import Output, cannot_write, make_folder
from cqc.runtime.sinks.parquet_batches import ParquetBatches
from cqc.runtime.sinks.printed import Printed, check_printed
from cqc.runtime.sinks.query_files import file_of_query
from cqc.runtime.sinks.table import TableFolderSink, TableSink

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.runtime.deliver.results import ResultBlock
    from cqc.runtime.sinks.protocol import Shape

ONE_PLACE = "-"  # the name of results that go to one file, or to standard output


class DurableSink:
    """Writes each micro-batch by the sink of its format into a folder aside, then adds that to the results.

    Args:
        kind: one of `SINKS`.
        out: a file or folder; None for standard output.
        folder: the folder of the checkpoint, for what is not complete.
        number: the micro-batch that counted last; -1 for a new run.
        known: what each file was then.
        shapes: the result columns of the queries; None when queries may come and go.
    """

    def __init__(
        self,
        kind: str,
        out: str | None,
        folder: Path,
        number: int,
        known: Mapping[str, Known],
        shapes: Mapping[str, Shape] | None,
    ) -> None:
        self._kind, self._shapes = kind, shapes
        self._folder, self._aside = folder, folder / "aside"
        self._number = number
        self._known = dict(known)
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
        self._parquet: ParquetBatches | None = None
        if kind == "parquet" and self._target is not None:
            self._parquet = ParquetBatches(self._target, folder, number)
        used = {name: was for name, was in self._known.items() if self._is_used(name)}
        for name, was in used.items():
            self._check(name, was)
        for name, was in self._known.items():
            if name in used:
                self._opened(name)
            else:
                leave(was)
        if kind in ("jsonl", "table") and self._is_folder and number < 0:
            for query in shapes or ():  # else what an earlier run found would stand for its results
                self._opened(file_of_query(Path(), query, SINKS[kind]).name)
        if kind not in ("none", "parquet") and not self._is_folder:
            self._opened(ONE_PLACE)

    def write(self, number: int, batches: Sequence[Sequence[ResultBlock]]) -> None:
        """Write the results of a micro-batch."""
        if self._kind == "none":
            return
        shutil.rmtree(self._aside, ignore_errors=True)
        try:
            private_folder(self._aside)
        except OSError as error:
            raise cannot_write(self._aside, error) from error
        headers = self._staged("header", []) if self._kind == "csv" else {}
        for name, path in self._staged("rows", batches).items():
            if self._parquet is not None:
                if any(len(block) for blocks in batches for block in blocks):
                    self._parquet.put(number, path)
                continue
            self._append(name, path, headers.get(name))
        shutil.rmtree(self._aside, ignore_errors=True)

    def keep(self, number: int) -> dict[str, Known]:
        """Put the results of a micro-batch on the disk, before it counts. Returns what each file is then."""
        if self._parquet is not None:
            self._parquet.keep(number)
        return {name: file.keep(number) for name, file in self._files.items()}

    def counted(self, number: int) -> None:
        """Show the results of a micro-batch that counts now."""
        if self._parquet is not None:
            self._parquet.show(number)
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
        extension = SINKS[self._kind]
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
        files = sorted(folder.iterdir())
        return {path.name if self._is_folder else ONE_PLACE: path for path in files}

    def _append(self, name: str, path: Path, header: Path | None) -> None:
        """Add a file to the results; its header only to a file that has none yet."""
        file = self._opened(name)
        data = path.read_bytes()
        skipped = header.stat().st_size if header is not None and file.length else 0
        if len(data) > skipped:
            if self._kind == "table" and file.length:
                file.append(b"\n")  # between two tables
            file.append(data[skipped:])

    def _opened(self, name: str) -> Growing | Printed:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = self._open(name, self._known.get(name))
        return file

    def _open(self, name: str, known: Known | None) -> Growing | Printed:
        path = self._path(name)
        if path is not None and (path.is_file() or not path.exists()):
            return Growing(path, known)
        output = Output(path, append=True)  # what goes there cannot be taken back
        printing = self._folder / "printing"
        if known is None or known.path:  # it begins to be printed now
            return Printed(output, printing, -1, 0)
        return Printed(output, printing, self._number, known.length)

    def _check(self, name: str, known: Known) -> None:
        """See that the results of a name can be brought to agree, before any of them is changed."""
        path = self._path(name)
        if path is not None and (path.is_file() or not path.exists()):
            check(path, known)
        elif not known.path:
            check_printed(self._folder / "printing", known.length)

    def _is_used(self, name: str) -> bool:
        return self._kind not in ("none", "parquet") and (name != ONE_PLACE) == self._is_folder

    def _path(self, name: str) -> Path | None:
        if self._target is not None and self._is_folder:
            return self._target / name
        return self._target
