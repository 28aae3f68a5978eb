"""What a service writes down so that it is the same after a crash: queries, ids, history and results.

Durable state is the base tuples, the query set and counters; everything else is made again from them by the same engine. Two
logs in segments: `rows-N.log` has micro-batches and registrations in the order they happened, `results-N.log` the delivered
lines. Results of a micro-batch are on the disk before its rows are written: the rows are the commit, and results beyond the last
commit are cut off at the next start. So a result is neither lost nor given out twice under two ids.

Each rows segment begins with *marks*: the query set, counters and clocks at that point. When the engine has forgotten all
tuples of the oldest segment it is deleted, and the next start begins with the marks of the one after it. Results are deleted
by the bytes that the result log keeps. Tables are never forgotten, and have a file of their own.

A torn tail is cut off; damage is not: a record that was acknowledged and cannot be read any more, a segment that is missing, and
fewer results or rows of tables than the batches count all end the start with one sentence, and change nothing.
"""

from __future__ import annotations

import fcntl
import os
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.files.private_files import private_folder, sync_folder
from cqc.runtime.files.record_file import RecordFile, read_records
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.run.input_plan import Positions, add_ranges
from cqc.runtime.serve.marks import (
    check_declarations,
    entry_from_json,
    entry_json,
    make_marks,
    restore_marks,
    restore_query,
)
from cqc.runtime.serve.records.high_water import HighWater, Marks
from cqc.runtime.serve.records.result_log import piece_of
from cqc.runtime.serve.records.stored_rows import read_rows, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from cqc.runtime.engine.engine import Engine
    from cqc.runtime.files.record_file import Head, Record
    from cqc.runtime.serve.records.result_log import ResultLog
    from cqc.runtime.serve.registry import Entry, Registry
    from cqc.runtime.serve.service import Batch

SEGMENT_BYTES = 16 * 1024 * 1024
_FORM = 3  # of the files


class Durable:
    """The folder of one service.

    Raises:
        RunError: when another service uses the folder, or it cannot be used.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        try:
            private_folder(folder, own=False)
            self._lock = _lock(folder / "lock")
        except OSError as error:
            raise RunError(f"cannot use {folder} as checkpoint: {error.strerror}") from error
        self._rows_files = _segments(folder, "rows")
        self._result_files = _segments(folder, "results")
        self.has_past = bool(self._rows_files)
        self.is_open = False
        self.progress: Callable[[float], None] = lambda done: None  # told while it is read
        self.epoch = os.urandom(4).hex()
        self.positions: Positions = {}
        self.sinks: dict[str, Any] = {}  # how far the spools of sinks are, in what counts
        self.has_tables = False
        self._batch = 0
        self._ends: dict[Path, dict[str, int]] = {}  # where the tuples of a segment end, by stream
        self._last_result: dict[Path, int] = {}  # the last result of a segment
        self._waiting: list[tuple[Head, bytes]] = []  # records of rows, for the next commit
        self._tables: RecordFile
        self._results: RecordFile
        self._rows: RecordFile

    # Beginning

    def begin(self, engine: Engine, registry: Registry) -> None:
        """The first start: nothing is there yet.

        Raises:
            RunError: when something is there that belongs to rows which have gone.
        """
        self._engine, self._registry = engine, registry
        try:
            tables = self.folder / "tables.log"
            for file in [*self._result_files, *([tables] if tables.exists() else [])]:
                if file.stat().st_size:
                    raise DamagedError(
                        file, "is there, but the rows-*.log that belong to it are not"
                    )
            self._high_water = HighWater(self.folder)
            self._open(0, 0, 0, 0)
        except BaseException:
            os.close(self._lock)
            raise

    def recover(self, engine: Engine, registry: Registry, results: ResultLog) -> int:
        """Bring an engine without queries to where the last one was. Returns the number of the next result.

        Raises:
            RunError: when the files are not of this program or version.
        """
        self._engine, self._registry = engine, registry
        try:
            return self._recover(results)
        except OSError as error:
            os.close(self._lock)
            reason = f"{error.filename or self.folder}: {error.strerror or error}"
            raise RunError(f"cannot read the checkpoint {reason}") from error
        except BaseException:
            os.close(self._lock)
            raise

    def _recover(self, results: ResultLog) -> int:
        self._high_water = HighWater(self.folder)
        self._check_segments()
        heads = [record.head for file in self._rows_files for record in self._records(file)]
        if not heads or heads[0].get("form") != _FORM:
            raise DamagedError(
                self._rows_files[0], "is not the beginning of a checkpoint of this version"
            )
        check_declarations(self._engine, heads[0], self.folder)
        self.epoch = heads[0]["epoch"]
        self.positions = heads[0]["positions"]
        alive = _alive(heads)
        last = [head for head in heads if "tables" in head][-1]
        self.sinks = last.get("sinks", {})
        self._fill_tables(last["tables"])
        restore_marks(self._engine, self._registry, heads[0], alive)
        keep_rows = self._replay(alive)
        next_result, keep_results = self._load_results(results, int(heads[0]["next_result"]))
        if next_result != last["next_result"]:
            file = self._result_files[-1] if self._result_files else self.folder / "results-*.log"
            why = f"ends before result {next_result:,}, although {last['next_result'] - 1:,} were given out"
            raise DamagedError(file, why)
        self._open(last["tables"], keep_rows, keep_results, next_result)
        return next_result

    def _check_segments(self) -> None:
        """See that no segment is missing."""
        least = self._high_water.before
        for files, first, last, kind in (
            (self._rows_files, least.first_rows, least.last_rows, "rows"),
            (self._result_files, least.first_results, least.last_results, "results"),
        ):
            numbers = [_number(file) for file in files]
            begin = min(first or numbers[0], numbers[0]) if numbers else last
            wanted = range(begin, max([*numbers, last]) + 1)
            for missing in sorted(set(wanted) - set(numbers)):
                raise DamagedError(_segment(self.folder, kind, missing), "is missing")

    def _records(self, file: Path) -> Iterator[Record]:
        """The records of a segment; only the last one of its kind can have a torn tail."""
        least = self._high_water.before
        is_rows = file in self._rows_files
        files = self._rows_files if is_rows else self._result_files
        if file != files[-1]:
            return read_records(file, None)
        number, size = (
            (least.last_rows, least.rows) if is_rows else (least.last_results, least.results)
        )
        return read_records(file, size if _number(file) == number else 0)

    def _replay(self, alive: dict[int, str]) -> int:
        """Do everything again, in order; how many bytes of the last segment are whole."""
        stop = 0
        size = sum(file.stat().st_size for file in self._rows_files) or 1
        before = 0
        for file in self._rows_files:
            stop = 0
            for record in self._records(file):
                stop = record.stop
                self._check_order(file, record)
                self._replay_one(record, alive)
                self.progress((before + stop) / size)
            before += stop
            self._ends[file] = self._heads()
        return stop

    def _check_order(self, file: Path, record: Record) -> None:
        """See that a batch follows the one before it."""
        head = record.head
        if file == self._rows_files[0] and head["kind"] == "marks":
            return
        wanted = {"batch": self._batch + 1, "marks": self._batch}.get(head["kind"])
        if wanted is not None and head["batch"] != wanted:
            raise DamagedError(file, f"has batch {head['batch']:,} where {wanted:,} should be")

    def _replay_one(self, record: Record, alive: dict[int, str]) -> None:
        head = record.head
        match head["kind"]:
            case "marks":
                self._batch = head["batch"]
            case "register" if head["query"]["number"] in alive:
                entry = entry_from_json(head["query"])
                restore_query(self._engine, self._registry, entry, alive)
            case "register":
                number = head["query"]["number"]
                self._registry.next_number = max(self._registry.next_number, number + 1)
            case "batch":
                self._batch = head["batch"]
                self._replay_batch(head, record.body)
            case _:
                pass

    def _replay_batch(self, head: Head, body: bytes) -> None:
        lines = self._engine.lines
        self._engine.push_typed(read_rows(lines, head["rows"], body))
        for _ in self._engine.drain_blocks():
            pass  # they were delivered; `results` has them
        if head["instants"] is not None:
            self._engine.resume_instants(head["instants"])
        if head.get("watermarks") is not None:
            self._engine.resume_watermarks(head["watermarks"])
        for name, each in head["rows"].items():
            lines[name].count.rejected += each["rejected"]
            lines[name].count.reasons.update(each["reasons"])
        for file, place in head["positions"]:
            self.positions.setdefault(file[0], {})[file[1]] = place
        for number, count in head["results"].items():
            entry = self._registry.numbered(int(number))
            if entry is not None:
                entry.results += count

    def _fill_tables(self, size: int) -> None:
        """Give the tables the rows of batches that count: `size` bytes of their file."""
        path, stop = self.folder / "tables.log", 0
        self.has_tables = size > 0
        if path.exists():
            for record in read_records(path, size):
                if record.stop > size:
                    break
                stop = record.stop
                rows = read_rows(self._engine.lines, record.head["rows"], record.body)
                self._engine.push_typed(rows)
        if stop != size:
            raise DamagedError(path, f"has {stop:,} bytes, although {size:,} count")

    def _load_results(self, results: ResultLog, next_result: int) -> tuple[int, int]:
        """Show the results of committed batches again; the next number, and the whole bytes of the last segment."""
        keep = 0
        for file in self._result_files:
            keep = 0
            for record in self._records(file):
                if record.head["batch"] > self._batch:
                    break
                keep = record.stop
                if file != self._result_files[0] or self._last_result:
                    self._check_number(file, record, next_result)
                queries = np.frombuffer(record.body[: record.head["queries"]], np.int64)
                text = record.body[record.head["queries"] :]
                piece = piece_of(record.head["first"], text, queries)
                results.append([piece])
                next_result = piece.stop
                self._last_result[file] = next_result - 1
        return next_result, keep

    def _check_number(self, file: Path, record: Record, wanted: int) -> None:
        """See that results follow one another; the first that are kept may have any number."""
        if record.head["first"] != wanted:
            raise DamagedError(
                file, f"has result {record.head['first']:,} where {wanted:,} should be"
            )

    # Writing

    def registered(self, entry: Entry, replaced: Entry | None = None) -> None:
        """Note a new query, and in the same record the one whose place it takes: no crash comes between the two."""
        head: Head = {"kind": "register", "query": entry_json(entry)}
        if replaced is not None:
            head["replaced"] = replaced.number
        self._waiting.append((head, b""))

    def unregistered(self, entry: Entry) -> None:
        self._waiting.append(({"kind": "unregister", "number": entry.number}, b""))

    def stopped(self, entry: Entry) -> None:
        head = {"kind": "stop", "number": entry.number, "why": entry.stopped}
        self._waiting.append((head, b""))

    def pushed(self, batch: Batch) -> None:
        """Write a micro-batch and its results."""
        tables = {
            name: rows
            for name, rows in batch.rows.items()
            if not self._engine.lines[fold(name)].relation.is_stream
        }
        if tables:
            head, body = write_rows(self._engine.lines, tables)
            self._tables.append({"rows": head}, body)
            self.has_tables = True
        self._batch += 1
        for piece in batch.pieces:
            numbers = piece.queries.astype(np.int64).tobytes()
            head = {"batch": self._batch, "first": piece.first, "queries": len(numbers)}
            self._results.append(head, numbers + piece.text)
            self._last_result[self._results.path] = piece.stop - 1
            self._next_result = piece.stop
        streams = {name: rows for name, rows in batch.rows.items() if name not in tables}
        head, body = write_rows(self._engine.lines, streams)
        add_ranges(self.positions, batch.ranges)
        self.sinks = batch.sinks
        self._waiting.append(
            (
                {
                    "kind": "batch",
                    "batch": self._batch,
                    "rows": head,
                    "positions": [[[part.stream, part.path], part.place] for part in batch.ranges],
                    "results": batch.results,
                    "next_result": self._next_result,
                    "tables": self._tables.size,
                    "instants": batch.next_instants,
                    "watermarks": batch.watermarks,
                    "sinks": batch.sinks,
                },
                body,
            )
        )

    def commit(self, oldest_result: int, *, in_step: bool = True) -> None:
        """Wait until everything is on the disk, then begin new segments and delete old ones where it is time.

        Args:
            oldest_result: results before this one are no longer asked for.
            in_step: whether the engine is where the last record says; else nothing more is written of it.
        """
        self._tables.sync()
        self._results.sync()
        for head, body in self._waiting:  # not before: a batch that counts has its results
            self._rows.append(head, body)
        self._waiting = []
        self._rows.sync()
        if not in_step:
            return
        if self._rows.size > self._segment_bytes:
            self._roll_rows()
        if self._results.size > self._segment_bytes:
            self._roll_results()
        self._note()
        self._delete_old(oldest_result)

    def close(self) -> None:
        for file in (self._tables, self._results, self._rows):
            file.close()
        self._high_water.close()
        os.close(self._lock)

    # Segments

    def _note(self, *, without_rows: int = 0, without_results: int = 0) -> None:
        """Write down how far the files are on the disk; without the first few, which are about to be deleted."""
        rows, results = self._rows_files[without_rows:], self._result_files[without_results:]
        self._high_water.note(
            Marks(
                self._tables.size,
                _number(rows[0]),
                _number(rows[-1]),
                self._rows.size,
                _number(results[0]),
                _number(results[-1]),
                self._results.size,
            )
        )

    def _open(self, keep_tables: int, keep_rows: int, keep_results: int, next_result: int) -> None:
        self._next_result = next_result or 1
        self._tables = RecordFile(self.folder / "tables.log", keep_tables)
        if self._result_files:
            self._results = RecordFile(self._result_files[-1], keep_results)
        else:
            self._roll_results()
        if self._rows_files:
            self._rows = RecordFile(self._rows_files[-1], keep_rows)
        else:
            self._roll_rows()
        self.is_open = True

    def _roll_rows(self) -> None:
        if self._rows_files:
            self._ends[self._rows_files[-1]] = self._heads()
            self._rows.close()
        path = _next(self.folder, "rows", self._rows_files)
        aside = path.with_suffix(".new")
        new = RecordFile(aside)
        new.append(self._marks())
        new.sync()
        new.close()
        aside.rename(path)
        self._rows = RecordFile(path, path.stat().st_size)
        self._rows_files.append(path)

    def _roll_results(self) -> None:
        if self._result_files:
            self._results.close()
        path = _next(self.folder, "results", self._result_files)
        self._results = RecordFile(path)
        self._result_files.append(path)

    def _marks(self) -> Head:
        return {
            "kind": "marks",
            "form": _FORM,
            "epoch": self.epoch,
            "batch": self._batch,
            "next_result": self._next_result,
            "tables": self._tables.size,
            "positions": self.positions,
            "sinks": self.sinks,
            **make_marks(self._engine, self._registry),
        }

    def _heads(self) -> dict[str, int]:
        return self._engine.heads()

    def _delete_old(self, oldest_result: int) -> None:
        rows = _leading(self._rows_files, self._is_forgotten)
        results = _leading(
            self._result_files, lambda file: self._last_result.get(file, 0) < oldest_result
        )
        if not rows and not results:
            return
        self._note(without_rows=rows, without_results=results)
        self._high_water.sync()  # before they go: what is missing otherwise is damage
        for files, count in ((self._rows_files, rows), (self._result_files, results)):
            for _ in range(count):
                files.pop(0).unlink()
        sync_folder(self.folder)

    def _is_forgotten(self, segment: Path) -> bool:
        states, lines = self._engine.states, self._engine.lines
        # A view that lost its last reader since has no rows that anybody needs.
        return all(
            states[name].first >= end
            for name, end in self._ends[segment].items()
            if name in lines and lines[name].relation.is_stream
        )


def _alive(heads: list[Head]) -> dict[int, str]:
    """The numbers of the queries that are registered at the end, with why they were stopped ("" for those that run)."""
    alive = {query["number"]: query.get("stopped", "") for query in heads[0]["queries"]}
    for head in heads:
        if head["kind"] == "register":
            alive.pop(head.get("replaced"), None)
            alive[head["query"]["number"]] = head["query"].get("stopped", "")
        elif head["kind"] == "stop":
            alive[head["number"]] = head["why"]
        elif head["kind"] == "unregister":
            alive.pop(head["number"], None)
    return alive


def _lock(path: Path) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise RunError(f"another service uses the checkpoint {path.parent}") from error
    return descriptor


def _leading(files: list[Path], may_go: Callable[[Path], bool]) -> int:
    """How many of the first segments may go; the last one, which is written to, stays."""
    return sum(1 for _ in takewhile(may_go, files[:-1]))


def _segments(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"{kind}-*.log"))


def _next(folder: Path, kind: str, files: list[Path]) -> Path:
    return _segment(folder, kind, _number(files[-1]) + 1 if files else 1)


def _segment(folder: Path, kind: str, number: int) -> Path:
    return folder / f"{kind}-{number:08d}.log"


def _number(segment: Path) -> int:
    return int(segment.stem.rpartition("-")[2])
