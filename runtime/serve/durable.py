"""What a service writes down so that it is the same after a crash: queries, ids, history and results.

Durable state is the base tuples, the query set and counters; everything else is made again from them by the same engine. Two
logs in segments: `rows-N.log` has micro-batches and registrations in the order they happened, `results-N.log` the delivered
lines. Results of a micro-batch are written and synced before its rows: the rows are the commit, and results beyond the last
commit are cut off at the next start. So a result is neither lost nor given out twice under two ids.

Each rows segment begins with *marks*: the query set, counters and clocks at that point. When the engine has forgotten all
tuples of the oldest segment it is deleted, and the next start begins with the marks of the one after it. Results are deleted
by the bytes that the result log keeps. Tables are never forgotten, and have a file of their own.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.plan import Positions, add_ranges
from cqc.runtime.serve.marks import (
    check_declarations,
    entry_from_json,
    entry_json,
    make_marks,
    restore_marks,
    restore_query,
)
from cqc.runtime.serve.record_file import RecordFile, read_records, sync_folder
from cqc.runtime.serve.result_log import piece_of
from cqc.runtime.serve.stored_rows import read_rows, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cqc.runtime.engine import Engine
    from cqc.runtime.serve.record_file import Head, Record
    from cqc.runtime.serve.registry import Entry, Registry
    from cqc.runtime.serve.result_log import ResultLog
    from cqc.runtime.serve.service import Batch

SEGMENT_BYTES = 16 * 1024 * 1024
_FORM = 2  # of the files


class Durable:
    """The folder of one service.

    Raises:
        RunError: when another service uses the folder, or it cannot be used.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder
        self._segment_bytes = segment_bytes
        try:
            folder.mkdir(parents=True, exist_ok=True)
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
        self.has_tables = _whole(folder / "tables.log") > 0
        self._batch = 0
        self._ends: dict[Path, dict[str, int]] = {}  # where the tuples of a segment end, by stream
        self._last_result: dict[Path, int] = {}  # the last result of a segment
        self._tables: RecordFile
        self._results: RecordFile
        self._rows: RecordFile

    # Beginning

    def begin(self, engine: Engine, registry: Registry) -> None:
        """The first start: nothing is there yet."""
        self._engine, self._registry = engine, registry
        self._open(0, 0, 0)

    def recover(self, engine: Engine, registry: Registry, results: ResultLog) -> int:
        """Bring an engine without queries to where the last one was; the number of the next result.

        Raises:
            RunError: when the files are not of this program or version.
        """
        self._engine, self._registry = engine, registry
        first = next(read_records(self._rows_files[0]), None)
        if first is None or first.head.get("form") != _FORM:
            raise RunError(
                f"{self._rows_files[0]} is not the beginning of a checkpoint of this version"
            )
        check_declarations(engine, first.head, self.folder)
        self.epoch = first.head["epoch"]
        self.positions = first.head["positions"]
        heads = [record.head for file in self._rows_files for record in read_records(file)]
        alive = _alive(heads)
        restore_marks(engine, registry, first.head, alive)
        self._fill_tables()
        keep_rows = self._replay(alive)
        next_result, keep_results = self._load_results(results, int(first.head["next_result"]))
        self._open(keep_rows, keep_results, next_result)
        return next_result

    def _replay(self, alive: dict[int, str]) -> int:
        """Do everything again, in order; how many bytes of the last segment are whole."""
        stop = 0
        size = sum(file.stat().st_size for file in self._rows_files) or 1
        before = 0
        for file in self._rows_files:
            stop = 0
            for record in read_records(file):
                stop = record.stop
                self._replay_one(record, alive)
                self.progress((before + stop) / size)
            before += stop
            self._ends[file] = self._heads()
        return stop

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
        self._engine.push_taken(read_rows(lines, head["rows"], body))
        for _ in self._engine.drain_blocks():
            pass  # they were delivered; `results` has them
        if head["instants"] is not None:
            self._engine.resume_instants(head["instants"])
        for name, each in head["rows"].items():
            lines[name].count.rejected += each["rejected"]
            lines[name].count.reasons.update(each["reasons"])
        for file, place in head["positions"]:
            self.positions.setdefault(file[0], {})[file[1]] = place
        for number, count in head["results"].items():
            entry = self._registry.numbered(int(number))
            if entry is not None:
                entry.results += count

    def _fill_tables(self) -> None:
        if self.has_tables:
            for record in read_records(self.folder / "tables.log"):
                rows = read_rows(self._engine.lines, record.head["rows"], record.body)
                self._engine.push_taken(rows)

    def _load_results(self, results: ResultLog, next_result: int) -> tuple[int, int]:
        """Show the results of committed batches again; the next number, and the whole bytes of the last segment."""
        keep = 0
        for file in self._result_files:
            keep = 0
            for record in read_records(file):
                if record.head["batch"] > self._batch:
                    break
                keep = record.stop
                queries = np.frombuffer(record.body[: record.head["queries"]], np.int64)
                text = record.body[record.head["queries"] :]
                piece = piece_of(record.head["first"], text, queries)
                results.append([piece])
                next_result = piece.stop
                self._last_result[file] = next_result - 1
        return next_result, keep

    # Writing

    def registered(self, entry: Entry) -> None:
        self._rows.append({"kind": "register", "query": entry_json(entry)})

    def unregistered(self, entry: Entry) -> None:
        self._rows.append({"kind": "unregister", "number": entry.number})

    def stopped(self, entry: Entry) -> None:
        self._rows.append({"kind": "stop", "number": entry.number, "why": entry.stopped})

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
        self._rows.append(
            {
                "kind": "batch",
                "batch": self._batch,
                "rows": head,
                "positions": [[[part.stream, part.path], part.stop] for part in batch.ranges],
                "results": batch.results,
                "instants": batch.next_instants,
            },
            body,
        )

    def commit(self, oldest_result: int, *, in_step: bool = True) -> None:
        """Wait until everything is on the disk, then begin new segments and delete old ones where it is time.

        Args:
            oldest_result: results before this one are no longer asked for.
            in_step: whether the engine is where the last record says; else nothing more is written of it.
        """
        self._tables.sync()
        self._results.sync()
        self._rows.sync()
        if not in_step:
            return
        if self._rows.size > self._segment_bytes:
            self._roll_rows()
        if self._results.size > self._segment_bytes:
            self._roll_results()
        self._delete_old(oldest_result)

    def close(self) -> None:
        for file in (self._tables, self._results, self._rows):
            file.close()
        os.close(self._lock)

    # Segments

    def _open(self, keep_rows: int, keep_results: int, next_result: int) -> None:
        self._next_result = next_result or 1
        self._tables = RecordFile(self.folder / "tables.log", _whole(self.folder / "tables.log"))
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
            "positions": self.positions,
            **make_marks(self._engine, self._registry),
        }

    def _heads(self) -> dict[str, int]:
        return {name: state.head for name, state in self._engine.states.items()}

    def _delete_old(self, oldest_result: int) -> None:
        deleted = False
        while len(self._rows_files) > 1 and self._is_forgotten(self._rows_files[0]):
            self._rows_files.pop(0).unlink()
            deleted = True
        while len(self._result_files) > 1 and (
            self._last_result.get(self._result_files[0], 0) < oldest_result
        ):
            self._result_files.pop(0).unlink()
            deleted = True
        if deleted:
            sync_folder(self.folder)

    def _is_forgotten(self, segment: Path) -> bool:
        states = self._engine.states
        return all(
            states[name].first >= end
            for name, end in self._ends[segment].items()
            if self._engine.lines[name].relation.is_stream
        )


def _alive(heads: list[Head]) -> dict[int, str]:
    """The numbers of the queries that are registered at the end, with why they were stopped ("" for those that run)."""
    alive = {query["number"]: query.get("stopped", "") for query in heads[0]["queries"]}
    for head in heads:
        if head["kind"] == "register":
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


def _segments(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.glob(f"{kind}-*.log"))


def _next(folder: Path, kind: str, files: list[Path]) -> Path:
    number = int(files[-1].stem.rpartition("-")[2]) + 1 if files else 1
    return folder / f"{kind}-{number:08d}.log"


def _whole(path: Path) -> int:
    """How many bytes of a file are whole records."""
    stop = 0
    if path.exists():
        for record in read_records(path):
            stop = record.stop
    return stop
