"""Parquet files of micro-batches: each is seen when its micro-batch counts, and from then on it is its reader's.

A micro-batch writes files under hidden names beside their place. When it counts they are renamed, so that whoever takes
files away as they come never sees a row that would come again after a crash. Which files a micro-batch shows is written down
first, with their sizes: a run that starts again shows those that were not shown yet, and notices what is not whole any more.

    OUT/.readings.000000000007.parquet.part      before micro-batch 7 counts
    OUT/readings.000000000007.parquet            after that
    DIR/shown/000000000007                       which files it has
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from pathlib import Path
from typing import Any

from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder, sync_folder
from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json
from cqc.runtime.notices import say
from cqc.runtime.sinks.output import cannot_write

_OF_A_BATCH = re.compile(r"\.(\d{12})\.parquet(\.part)?$")
_SHOWN = "shown"
_KEPT = 3  # lists that are left in the folder, as many as commits


class ParquetBatches:
    """The Parquet files of a run.

    Args:
        folder: where they are.
        checkpoint: the checkpoint's folder.
        number: the micro-batch that counted last; -1 for a new run. What others after it have left is removed.

    Raises:
        RunError: when the folder cannot be used, or what counts is not there as it was.
    """

    def __init__(self, folder: Path, checkpoint: Path, number: int) -> None:
        self._folder = folder
        self._lists = checkpoint / _SHOWN
        self._kept: dict[str, int] = {}
        if number >= 0 and self._list(number).exists():
            self._finish(number)
        try:
            for file in folder.iterdir():
                found = _OF_A_BATCH.search(file.name)
                if found and (int(found[1]) > number or found[2]):
                    file.unlink()
        except OSError as error:
            raise cannot_write(folder, error) from error

    def put(self, number: int, path: Path) -> None:
        """Add a file of a micro-batch."""
        name = f"{path.stem}.{number:012d}.parquet"
        aside = self._aside(name)  # beside its place: only there renaming is all or nothing
        try:
            _move(path, aside)
            with aside.open("rb") as file:
                os.fsync(file.fileno())
            self._kept[name] = aside.stat().st_size
        except OSError as error:
            raise cannot_write(self._folder, error) from error

    def keep(self, number: int) -> None:
        """Write down what a micro-batch will show, before it counts."""
        shown = {"folder": str(self._folder.absolute()), "files": self._kept}
        try:
            private_folder(self._lists)
            write_sealed_json(self._list(number), shown, durably=bool(self._kept))
            self._list(number - _KEPT).unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(self._list(number), error) from error

    def show(self, number: int) -> None:
        """Show the files of a micro-batch that counts now."""
        del number
        try:
            for name in self._kept:
                self._aside(name).replace(self._folder / name)
            if self._kept:
                sync_folder(self._folder)
        except OSError as error:
            raise cannot_write(self._folder, error) from error
        self._kept = {}

    def _finish(self, number: int) -> None:
        """Show what a micro-batch that counts had not shown when its process ended."""
        shown = read_sealed_json(self._list(number))
        if shown["folder"] != str(self._folder.absolute()):
            return
        for name, size in shown["files"].items():
            aside, file = self._aside(name), self._folder / name
            there = aside if aside.exists() else file
            if not there.exists():
                say(f"note: {file}, whose results count, was taken away; going on after it")
            elif there.stat().st_size != size:
                raise RunError(_changed(there, size))
            elif there is aside:
                aside.replace(file)

    def _list(self, number: int) -> Path:
        return self._lists / f"{number:012d}"

    def _aside(self, name: str) -> Path:
        return self._folder / f".{name}.part"


def check_shown(checkpoint: Path, number: int) -> None:
    """Check that the files which a micro-batch may have shown can be taken back. Changes nothing.

    Raises:
        RunError: when one was taken away, so that its results would come again.
    """
    path = checkpoint / _SHOWN / f"{number:012d}"
    if not path.exists():
        return
    shown: dict[str, Any] = read_sealed_json(path)
    for name, size in shown["files"].items():
        folder = Path(shown["folder"])
        files = (folder / name, folder / f".{name}.part")
        if not any(file.exists() and file.stat().st_size == size for file in files):
            raise RunError(_changed(files[0], size))


def _changed(file: Path, size: int) -> str:
    return (
        f"{file} does not have the {size:,} bytes of results that count any more: "
        "put it back as it was, or name another --checkpoint to begin anew"
    )


def _move(path: Path, to: Path) -> None:
    """Move a file, also from one disk to another."""
    try:
        path.replace(to)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(path, to)
