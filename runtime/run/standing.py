"""How far a run is, for those who watch it: results so far, the share of its files, its watermark and how old that is.

It is asked for only when somebody looks, a few times a second at most, so nothing is counted for it on the way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.event_time import ALL_SEEN, NOTHING_SEEN
from cqc.runtime.columns.timestamp_text import to_datetime
from cqc.runtime.sources.file_feed import size_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import BinaryIO

    from cqc.runtime.engine.engine import Engine

_SECOND_US = 1_000_000


@record
class Standing:
    """How far a run is; None where there is no such figure."""

    results: int
    share: float | None  # of the bytes of its files, read so far
    watermark: str | None  # the smallest of its streams
    lag_seconds: float | None  # how far that is behind the clock, where input is followed


@dataclass
class FilesRead:
    """The files of a run that is read once: how many bytes there are, and how many were read."""

    all_bytes: int = 0
    warnings: list[str] = field(default_factory=list)  # about what is not read
    _before: int = 0  # of files that are done with
    _open: dict[str, BinaryIO] = field(default_factory=dict)  # by name
    _highest: float = 0.0

    def expect(self, files: Iterable[Path]) -> None:
        """There will be these files."""
        self.all_bytes += sum(size_of(file) for file in files)

    def begin(self, path: Path, opened: BinaryIO) -> None:
        """A file is being read from its beginning to its end."""
        self._open[str(path)] = opened

    def end(self, path: Path) -> None:
        """A file was read."""
        self._open.pop(str(path), None)
        self._before += size_of(path)

    @property
    def share(self) -> float | None:
        """From 0 to 1; None where there are no files."""
        if not self.all_bytes:
            return None
        now = self._before + sum(
            opened.tell() for opened in list(self._open.values()) if not opened.closed
        )
        self._highest = max(self._highest, min(now / self.all_bytes, 1.0))
        return self._highest


def standing_of(
    engine: Engine, streams: Iterable[str], share: float | None, *, live: bool
) -> Standing:
    """How far an engine is with some streams (folded names)."""
    lines = [engine.lines[name] for name in streams if engine.lines[name].relation.is_stream]
    marks = [line.watermark_us for line in lines]
    seen = [us for us in marks if us not in (ALL_SEEN, NOTHING_SEEN)]
    watermark, lag = None, None
    if seen and len(seen) == len(marks):
        lowest = min(seen)
        is_instant = all(line.relation.time_type is ColumnType.TIMESTAMP for line in lines)
        watermark = _shown(lowest) if is_instant else f"{lowest / _SECOND_US:,.0f}"
        lag = max(time.time() - lowest / _SECOND_US, 0.0) if live and is_instant else None
    return Standing(sum(engine.result_counts().values()), share, watermark, lag)


def _shown(us: int) -> str:
    return str(to_datetime(us)).partition(".")[0].replace("+00:00", "")
