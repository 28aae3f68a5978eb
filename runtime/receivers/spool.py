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

from cqc.runtime.files.private_files import private_folder
from cqc.runtime.files.record_file import RecordFile, read_record, read_records
from cqc.runtime.files.sealed import DamagedError
from cqc.runtime.receivers.receiver import Columns, Sent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_SEGMENT_BYTES = 16 * 1024 * 1024
_FRAME_RESULTS = 1_000


class MemorySpool:
    """The spool of a run without a checkpoint.

    Args:
        most_bytes: what may wait.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._results: deque[Sent] = deque()
        self._changed = threading.Condition()
        self.bytes = 0
        self.last = 0  # the number of the last result
        self._released = 0

    @property
    def is_full(self) -> bool:
        return self.bytes >= self._most_bytes

    def append(self, results: Sequence[Sent]) -> None:
        """Add results, numbered from `last + 1` on."""
        with self._changed:
            for each in results:
                self._results.append(each)
                self.bytes += len(each.line)
            self.last += len(results)

    def sync(self) -> None:
        """Memory is as safe as it gets."""

    def release(self) -> None:
        """Everything that was appended may be sent."""
        with self._changed:
            self._released = self.last
            self._changed.notify_all()

    def read(self, after: int, most: int, wait_s: float) -> list[Sent]:
        """Up to `most` released results with numbers above `after`; none when nothing comes for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._released > after, wait_s)
            found: list[Sent] = []
            for each in self._results:
                if each.number > self._released or len(found) == most:
                    break
                if each.number > after:
                    found.append(each)
            return found

    def forget(self, upto: int) -> None:
        """Let go of everything up to a number: it was sent."""
        with self._changed:
            while self._results and self._results[0].number <= upto:
                self.bytes -= len(self._results.popleft().line)
            self._changed.notify_all()

    def drop_oldest(self) -> int:
        """Give up the older half. Returns the last number that is gone."""
        with self._changed:
            numbers = [each.number for each in self._results]
        gone = numbers[(len(numbers) - 1) // 2] if numbers else self.last
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
        with self._changed:
            if self._file.size > self._segment_bytes:
                self._file.sync()
                self._file.close()
                self._lasts[self._segments[-1]] = self.last
                self._segments.append(self._folder / f"{self.last + 1:020d}.log")
                self._file = RecordFile(self._segments[-1])
            for at in range(0, len(results), _FRAME_RESULTS):
                some = results[at : at + _FRAME_RESULTS]
                self._file.append(*_frame(some))
            self.last += len(results)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self._file.sync()

    def release(self) -> None:
        """Everything that was appended counts, and may be sent."""
        with self._changed:
            self._released = self.last
            self._changed.notify_all()

    def read(self, after: int, most: int, wait_s: float) -> list[Sent]:
        """Up to `most` released results with numbers above `after`; none when nothing comes for so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._released > after, wait_s)
            if self._released <= after:
                return []
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
        self._left: deque[Sent] = deque()

    def is_at(self, after: int) -> bool:
        return after == self._after

    def take(self, segments: Sequence[Path], released: int, most: int) -> list[Sent]:
        found: list[Sent] = []
        while len(found) < most:
            while self._left and self._left[0].number <= self._after:
                self._left.popleft()
            if self._left:
                if self._left[0].number > released:
                    break
                found.append(self._left.popleft())
                self._after = found[-1].number
            elif not self._read_frame(segments):
                break
        return found

    def close(self) -> None:
        self._file.close()

    def _read_frame(self, segments: Sequence[Path]) -> bool:
        size = os.fstat(
            self._file.fileno()
        ).st_size  # by now its name may be gone: everything in it was sent
        self._file.seek(self.place)
        record = read_record(self._file, self.path, self.place, size) if self.place < size else None
        if record is not None:
            self._left.extend(_results(record.head, record.body))
            self.place = record.stop
            return True
        later = [path for path in segments if path > self.path]
        if not later:
            return False
        self._file.close()
        self.path, self.place = later[0], 0
        self._file = self.path.open("rb")
        return True


def _frame(results: Sequence[Sent]) -> tuple[dict[str, Any], bytes]:
    """Consecutive results as head and body of a record."""
    shapes: dict[str, Any] = {}
    queries: dict[str, int] = {}
    for each in results:
        if each.query not in queries:
            queries[each.query] = len(queries)
            shapes[each.query] = asdict(each.columns)
    head = {
        "first": results[0].number,
        "count": len(results),
        "queries": shapes,
        "of": [queries[each.query] for each in results],
        "ids": [each.id for each in results],
    }
    return head, "\n".join(each.line for each in results).encode()


def _results(head: Mapping[str, Any], body: bytes) -> Iterator[Sent]:
    names = list(head["queries"])
    columns = [
        Columns(tuple(each["names"]), tuple(each["types"]), each["time_type"])
        for each in head["queries"].values()
    ]
    lines = body.decode().split("\n")
    for at, (line, which, id_) in enumerate(zip(lines, head["of"], head["ids"], strict=True)):
        yield Sent(head["first"] + at, id_, names[which], line, columns[which])


Spool = MemorySpool | FileSpool
