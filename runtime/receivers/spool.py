"""Results that wait for a receiver: numbered, in order, bounded in bytes, and on the disk where a run has a checkpoint.

The engine's thread appends the results of a micro-batch and, once that counts, releases them; the sender's thread reads what is
released. A run that starts again cuts off what never came to count: the commit says the last number that does.

    SPOOL/00000001.log     numbers 1 to 3,000, in frames of the results of one micro-batch
    SPOOL/00000002.log     numbers 3,001 on

Whole segments are deleted when everything in them has been sent (or, by the policy `drop_oldest`, when there is no more room).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.record_file import RecordFile, read_record, read_records
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.receivers.receiver import Columns
from cqc.runtime.receivers.sent_rows import NO_ROWS, SentRows, joined, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cqc.runtime.receivers.receiver import Sent

_SEGMENT_BYTES = 16 * 1024 * 1024
_FRAME_RESULTS = 1_000


class MemorySpool:
    """The spool of a run without a checkpoint.

    Args:
        most_bytes: what may wait.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._waiting: deque[SentRows] = deque()  # what each micro-batch brought
        self._changed = threading.Condition()
        self.bytes = 0
        self.last = 0  # the number of the last result
        self._released = 0

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most_bytes

    def append(self, results: Sequence[Sent]) -> None:
        """Add results, numbered from `last + 1` on."""
        rows = rows_of(results)
        with self._changed:
            self._waiting.append(rows)
            self.bytes += rows.text_bytes
            self.last += len(rows)

    def sync(self) -> None:
        """Memory is as safe as it gets."""

    def release(self) -> None:
        """Everything that was appended may be sent."""
        with self._changed:
            self._released = self.last
            self._changed.notify_all()

    def read(self, after: int, most: int, wait_s: float) -> SentRows:
        """Up to `most` released results with numbers above `after`; none when nothing comes for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._released > after, wait_s)
            found: list[SentRows] = []
            count = 0
            for rows in self._waiting:
                if count >= most or rows.numbers[0] > self._released:
                    break
                if rows.numbers[-1] > after:
                    found.append(rows.after(after).upto(self._released)[: most - count])
                    count += len(found[-1])
            return joined(found)

    def forget(self, upto: int) -> None:
        """Let go of everything up to a number: it was sent."""
        with self._changed:
            while self._waiting and self._waiting[0].numbers[0] <= upto:
                rows = self._waiting.popleft()
                left = rows.after(upto)
                self.bytes -= rows.text_bytes - left.text_bytes
                if len(left):
                    self._waiting.appendleft(left)
            self._changed.notify_all()

    def drop_oldest(self) -> int:
        """Give up the older half. Returns the last number that is gone."""
        with self._changed:
            oldest = int(self._waiting[0].numbers[0]) if self._waiting else self.last
        gone = (oldest + self.last) // 2
        self.forget(gone)
        return gone

    def wait_for_room(self, seconds: float) -> None:
        """Wait until something was sent, or for so long."""
        with self._changed:
            self._changed.wait_for(lambda: not self.is_full, seconds)

    def close(self) -> None:
        """Nothing is open."""


class FileSpool:
    """The spool of a run with a checkpoint.

    Args:
        folder: its own.
        counts: the number of the last result that counts; what comes after it is cut off.
        most_bytes: what may wait.

    Raises:
        DamagedError: when results that count are missing or damaged.
        OSError: when the folder cannot be used.
    """

    def __init__(self, folder: Path, counts: int, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._segment_bytes = min(_SEGMENT_BYTES, max(most_bytes // 8, 4096))
        self._changed = threading.Condition()
        private_folder(folder)
        self.last = self._released = counts
        self._lasts: dict[Path, int] = {}  # the last number in each segment that is complete
        self._segments = self._cut(counts)
        self._reading: _Reader | None = None
        self._sent_bytes = 0  # of the oldest segment
        self._file = self._open_last(counts)

    def _open_last(self, counts: int) -> RecordFile:
        if not self._segments:
            self._segments.append(self._folder / f"{counts + 1:020d}.log")
            return RecordFile(self._segments[-1])
        return RecordFile(self._segments[-1], self._segments[-1].stat().st_size)

    @property
    def bytes(self) -> int:
        """The bytes that wait, about."""
        with self._changed:
            sizes = sum(each.stat().st_size for each in self._segments[:-1])
            return max(sizes + self._file.size - self._sent_bytes, 0)

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most_bytes

    def append(self, results: Sequence[Sent]) -> None:
        """Add results, numbered from `last + 1` on; they are not safe before `sync`."""
        rows = rows_of(results)
        with self._changed:
            if self._file.size > self._segment_bytes:
                self._file.sync()
                self._file.close()
                self._lasts[self._segments[-1]] = self.last
                self._segments.append(self._folder / f"{self.last + 1:020d}.log")
                self._file = RecordFile(self._segments[-1])
            for at in range(0, len(rows), _FRAME_RESULTS):
                self._file.append(*_frame(rows[at : at + _FRAME_RESULTS]))
            self.last += len(rows)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._file.sync()

    def release(self) -> None:
        """Everything that was appended counts, and may be sent."""
        with self._changed:
            self._released = self.last
            self._changed.notify_all()

    def read(self, after: int, most: int, wait_s: float) -> SentRows:
        """Up to `most` released results with numbers above `after`; none when nothing comes for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._released > after, wait_s)
            if self._released <= after:
                return NO_ROWS
            if self._reading is None or not self._reading.is_at(after):
                if self._reading is not None:
                    self._reading.close()
                self._reading = _Reader(self._segments, after)
            return self._reading.take(self._segments, self._released, most)

    def forget(self, upto: int) -> None:
        """Let go of everything up to a number: it was sent."""
        with self._changed:
            while len(self._segments) > 1 and self._lasts[self._segments[0]] <= upto:
                self._drop_first()
            self._sent_bytes = 0
            if self._reading is not None and self._reading.path == self._segments[0]:
                self._sent_bytes = self._reading.place
            self._changed.notify_all()

    def drop_oldest(self) -> int:
        """Give up the oldest segment. Returns the last number that is gone; 0 when there is only the one being written."""
        with self._changed:
            if len(self._segments) < 2:
                return 0
            gone = self._lasts[self._segments[0]]
            self._drop_first()
            return gone

    def wait_for_room(self, seconds: float) -> None:
        """Wait until something was sent, or for so long."""
        with self._changed:
            self._changed.wait(seconds)

    def close(self) -> None:
        self._file.close()
        if self._reading is not None:
            self._reading.close()

    def _drop_first(self) -> None:
        first = self._segments.pop(0)
        self._lasts.pop(first, None)
        first.unlink(missing_ok=True)
        self._sent_bytes = 0

    def _cut(self, counts: int) -> list[Path]:
        """The segments that are left when everything after the last number that counts is gone."""
        left: list[Path] = []
        reached = 0
        for path in sorted(self._folder.glob("*.log")):
            first = int(path.stem)
            if first > counts:
                path.unlink()
                continue
            reached = first - 1
            keep = 0
            for record in read_records(path):
                last = record.head["first"] + record.head["count"] - 1
                if last > counts:
                    break
                reached, keep = last, record.stop
            if keep < path.stat().st_size:
                RecordFile(path, keep).close()
            self._lasts[path] = reached
            left.append(path)
        if left and reached < counts:
            raise DamagedError(
                left[-1], f"ends with result {reached:,}, although {counts:,} were written"
            )
        return left


class _Reader:
    """Where the sender reads: a segment, a place in it, and results of the frame there that were not taken yet."""

    def __init__(self, segments: Sequence[Path], after: int) -> None:
        starts = [path for path in segments if int(path.stem) <= after + 1]
        self.path = starts[-1] if starts else segments[0]
        self.place = 0
        self._file = self.path.open("rb")
        self._after = after
        self._left = NO_ROWS

    def is_at(self, after: int) -> bool:
        return after == self._after

    def take(self, segments: Sequence[Path], released: int, most: int) -> SentRows:
        found: list[SentRows] = []
        count = 0
        while count < most:
            self._left = self._left.after(self._after)
            if not len(self._left):
                if not self._read_frame(segments):
                    break
                continue
            some = self._left.upto(released)[: most - count]
            if not len(some):
                break
            found.append(some)
            count += len(some)
            self._after = int(some.numbers[-1])
        return joined(found)

    def close(self) -> None:
        self._file.close()

    def _read_frame(self, segments: Sequence[Path]) -> bool:
        size = os.fstat(
            self._file.fileno()
        ).st_size  # by now its name may be gone: everything in it was sent
        self._file.seek(self.place)
        record = read_record(self._file, self.path, self.place, size) if self.place < size else None
        if record is not None:
            self._left = _results(record.head, record.body)
            self.place = record.stop
            return True
        later = [path for path in segments if path > self.path]
        if not later:
            return False
        self._file.close()
        self.path, self.place = later[0], 0
        self._file = self.path.open("rb")
        return True


def _frame(rows: SentRows) -> tuple[dict[str, Any], bytes]:
    """Consecutive results as head and body of a record."""
    used, of = np.unique(rows.of, return_inverse=True)
    head = {
        "first": int(rows.numbers[0]),
        "count": len(rows),
        "queries": [[rows.queries[at][0], asdict(rows.queries[at][1])] for at in used.tolist()],
    }
    batch = pa.record_batch([pa.array(of), rows.ids, rows.lines], names=["of", "ids", "lines"])
    return head, batch.serialize().to_pybytes()


_SCHEMA = pa.schema([("of", pa.int64()), ("ids", pa.string()), ("lines", pa.string())])


def _results(head: Mapping[str, Any], body: bytes) -> SentRows:
    numbers = np.arange(head["first"], head["first"] + head["count"])
    if "ids" in head:  # an earlier version: the lines alone, one below the other
        queries = [(name, _columns(each)) for name, each in head["queries"].items()]
        lines = pa.array(body.decode().split("\n"), pa.string())
        ids = pa.array(head["ids"], pa.string())
        return SentRows(numbers, ids, lines, np.array(head["of"], np.int64), queries)
    queries = [(name, _columns(each)) for name, each in head["queries"]]
    of, ids, lines = pa.ipc.read_record_batch(pa.py_buffer(body), _SCHEMA).columns
    return SentRows(numbers, ids, lines, of.to_numpy(), queries)


def _columns(stored: Mapping[str, Any]) -> Columns:
    return Columns(tuple(stored["names"]), tuple(stored["types"]), stored["time_type"])


Spool = MemorySpool | FileSpool
