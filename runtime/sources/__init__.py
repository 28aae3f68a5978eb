"""Where rows come from: files and folders of CSV, JSON lines, Parquet and Windows event logs.

`open_source` streams the rows of a relation in chunks, so that the size of the input does not matter. A folder is read in
the order of its files' names. What a file is, its extension says; where it says nothing, the WITH clause's `format` does.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.source_formats import FILE_OF_ENDING, FILES, format_called
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import join_taken, split_taken
from cqc.runtime.sources.formats.csv import read_csv
from cqc.runtime.sources.formats.evtx import read_evtx
from cqc.runtime.sources.formats.jsonl import read_jsonl
from cqc.runtime.sources.formats.packed import (
    CANNOT_UNPACK,
    inner_name,
    is_packed,
    is_packed_otherwise,
    unpacked,
)
from cqc.runtime.sources.formats.parquet import read_parquet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.run.standing import FilesRead

ROWS_PER_CHUNK = 32_768
BYTES_PER_CHUNK = 8 * 1024 * 1024  # so that long rows take no more memory than short ones

READERS: dict[
    str, Callable[[Relation, BinaryIO, str], Iterator[TypedBatch]]
] = {  # of each kind of `FILES`
    "csv": read_csv,
    "jsonl": read_jsonl,
    "parquet": read_parquet,
    "evtx": read_evtx,
}


@record
class SourceFile:
    """One file of a source and what it is."""

    path: Path
    format: str


def open_source(
    relation: Relation,
    path: str | Path | None = None,
    rows: int | None = None,
    reading: FilesRead | None = None,
    wanted: frozenset[int] | None = None,
) -> Iterator[TypedBatch]:
    """The rows of a relation, in chunks of `rows` tuples (the last one has fewer).

    Args:
        relation: the stream or table.
        path: a file or folder to read instead of the one its WITH clause names.
        rows: how many tuples a chunk has; some tens of thousands by default.
        reading: told which files there are, and when each is begun and done with.
        wanted: positions of the columns that somebody reads; others may be NULL. All by default.

    Raises:
        RunError: when there is nothing to read, or it cannot be read.
    """
    files = source_files(relation, path)
    if reading is not None:
        reading.expect(file.path for file in files)
        passed_over = no_files(source_path(relation, path))
        if passed_over:
            reading.warnings.append(about_no_files(relation, passed_over))
    return in_chunks(
        (taken for file in files for taken in read_file(relation, file, reading, wanted)),
        rows or ROWS_PER_CHUNK,
        BYTES_PER_CHUNK if rows is None else None,
    )


def source_files(relation: Relation, path: str | Path | None = None) -> list[SourceFile]:
    """The files of a relation, in the order in which they are read.

    Raises:
        RunError: when there is no such place, or it is not known what it holds.
    """
    place = source_path(relation, path)
    default = _default_format(relation)
    try:
        if place.is_dir():
            return _files_in(place, default, relation)
        if not place.exists():
            raise RunError(f"there is no {place} to read {relation.name} from{_if_pattern(place)}")
    except OSError as error:
        raise _cannot_read(place, error) from error
    _refuse_other_packing(place)
    format_ = _format_of(place) or default
    if format_ is None:
        raise RunError(
            f"cannot tell what {place} is: name it {_endings()} (.gz or .zst after it when it is packed), "
            "or say WITH (format = ...)"
        )
    return [SourceFile(place, format_)]


def _if_pattern(place: Path) -> str:
    """What to write instead, for those who expect that `*` stands for many files."""
    if not {"*", "?", "["} & set(place.name):
        return ""
    return f"; patterns are not looked up: name the folder {place.parent}, of which every data file is read"


def source_path(relation: Relation, path: str | Path | None = None) -> Path:
    """Where the rows of a relation are: the given path, else what its WITH clause says."""
    if path is not None:
        return Path(path)
    declared = relation.options.get("path")
    if declared is None:
        raise RunError(
            f"{relation.name} has no data: use --bind {relation.name}=PATH, or WITH (path = ...)"
        )
    return Path(relation.folder) / declared


def read_file(
    relation: Relation,
    file: SourceFile,
    reading: FilesRead | None = None,
    wanted: frozenset[int] | None = None,
) -> Iterator[TypedBatch]:
    """The rows of one file, in chunks of any size."""
    try:
        with file.path.open("rb") as opened:
            # Parquet is read from its end, event logs out of order: where their reader is says nothing.
            if reading is not None and file.format not in ("parquet", "evtx"):
                reading.begin(file.path, opened)
            rows, name = unpacked(file.path, opened), str(file.path)
            match file.format:
                case "parquet":
                    yield from read_parquet(relation, rows, name, wanted=wanted)
                case "jsonl":
                    yield from read_jsonl(relation, rows, name, wanted)
                case _:  # every value is looked at
                    yield from READERS[file.format](relation, rows, name)
        if reading is not None:
            reading.end(file.path)
    except CANNOT_UNPACK as error:
        raise _cannot_read(file.path, error) from error


def in_chunks(
    parts: Iterable[TypedBatch], rows: int, most_bytes: int | None = None
) -> Iterator[TypedBatch]:
    """The same tuples in chunks of `rows`, or of fewer where these take more than so many bytes."""
    held: list[TypedBatch] = []
    count = size = 0
    for part in parts:
        held.append(part)
        count += len(part)
        size += part.nbytes
        del part
        is_large = most_bytes is not None and size >= most_bytes
        if count < rows and not is_large:
            continue
        pieces = deque(split_taken(join_taken(held), rows))
        held, count, size = [], 0, 0
        if len(pieces[-1]) < rows and not is_large:
            held.append(pieces.pop())
            count, size = len(held[0]), held[0].nbytes
        while pieces:  # what was handed out is not kept here: many streams wait at once
            yield pieces.popleft()
    if held:
        yield join_taken(held)


def _files_in(folder: Path, default: str | None, relation: Relation) -> list[SourceFile]:
    """Files in name order. Where some have a known extension the others are something else's."""
    present = sorted(
        (file for file in folder.iterdir() if file.is_file() and file.name[0] not in "._"),
        key=lambda file: file.name,
    )
    for file in present:
        _refuse_other_packing(file)
    known = [SourceFile(file, format_) for file in present if (format_ := _format_of(file))]
    if known or not present:
        return known
    if default is None:
        raise RunError(
            f"cannot tell what the files in {folder} are for {relation.name}: say WITH (format = ...)"
        )
    return [SourceFile(file, default) for file in present]


def no_files(folder: Path) -> list[Path]:
    """What is called like data in a folder and is no file: nothing is read from folders in it, pipes, or links that lead nowhere."""
    try:
        entries = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError:
        return []  # whoever reads says so
    return [
        entry
        for entry in entries
        if entry.name[0] not in "._"
        and _format_of(entry)
        and not entry.is_file()
        and (entry.is_symlink() or entry.exists())
    ]


def about_no_files(relation: Relation, entries: list[Path]) -> str:
    """What is said of such entries."""
    others = "" if len(entries) == 1 else f" (and {len(entries) - 1:,} more)"
    return (
        f"{relation.name}: {entries[0]}{others} is no file but a folder, a pipe, or a link that leads nowhere; "
        "nothing is read from it"
    )


def _format_of(path: Path) -> str | None:
    return FILE_OF_ENDING.get(inner_name(path).suffix.lower())


def _endings() -> str:
    *others, last = (kind.endings[0] for kind in FILES.values())
    return f"{', '.join(others)} or {last}"


def _refuse_other_packing(path: Path) -> None:
    if is_packed_otherwise(path) and _format_of(path.with_suffix("")):
        raise RunError(
            f"cannot read {path}: only .gz and .zst are unpacked; pack it so, or unpack it"
        )
    if is_packed(path) and _format_of(path) == "parquet":
        raise RunError(f"cannot read {path}: Parquet is packed inside; unpack it")


def _default_format(relation: Relation) -> str | None:
    """The format of the WITH clause; none for one that is no kind of file, when a file was bound in its place."""
    format_ = format_called(relation.options.get("format", ""))
    return None if format_ is None else format_.reader


def _cannot_read(path: Path, error: Exception) -> RunError:
    reason = getattr(error, "strerror", None) or str(error)
    return RunError(f"cannot read {path}: {reason}")
