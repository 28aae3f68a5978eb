"""How far a run has come, on standard error: one line that is written over, or a line now and then in a log."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from cqc.cli.report import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cqc.runtime.options import RunOptions
    from cqc.runtime.run.standing import Standing

_TERMINAL_S, _LOG_S = 0.2, 10.0  # between two updates
_IDLE_S = 1.0  # the same on a terminal, while nothing comes: only the lag grows


def wants_progress(options: RunOptions, *, quiet: bool, asked: bool) -> bool:
    """By default only where a person looks at it, and where it does not run through the results."""
    if quiet or asked:
        return not quiet
    held_back = options.sink in ("none", "table")  # tables come at the end
    results_on_terminal = options.out is None and not held_back and sys.stdout.isatty()
    return sys.stderr.isatty() and not results_on_terminal


class Progress:
    """Rows so far, the rate, and how far the run is. A run calls it after each micro-batch, and `idle` while none comes."""

    def __init__(self, *, enabled: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self._enabled = enabled
        self._clock = clock
        self._on_terminal = sys.stderr.isatty()
        self._started = clock()
        self._next = self._started
        self._shown = False
        self._latest: tuple[int, float] | None = None  # rows, and when they were there
        self._is_news = False  # whether nothing was said of those yet
        self._rows_before = 0

    def begin(self, rows_before: int) -> None:
        """Of the rows that will be counted so many were read by earlier starts: they say nothing of the rate of this one."""
        self._rows_before = rows_before

    def __call__(self, tuples: int, standing: Callable[[], Standing] | None = None) -> None:
        """Show the counts, but not more often than one can read; `standing` is asked only then."""
        if not self._enabled:
            return
        now = self._clock()
        self._latest, self._is_news = (tuples, now), True
        if now >= self._next:
            self._show(now, standing)

    def idle(self, standing: Callable[[], Standing] | None = None) -> None:
        """Nothing comes at present: what came last is said as soon as something may be said again."""
        if not self._enabled or self._latest is None:
            return
        now = self._clock()
        due = self._next if self._is_news else self._next + _IDLE_S
        if now >= due and (self._is_news or self._on_terminal):
            self._show(now, standing)

    def _show(self, now: float, standing: Callable[[], Standing] | None) -> None:
        assert self._latest is not None
        tuples, then = self._latest
        self._is_news = False
        self._next = now + (_TERMINAL_S if self._on_terminal else _LOG_S)
        rate = (tuples - self._rows_before) / max(then - self._started, 1e-9)
        parts = [counted(tuples, "row"), f"{counted(round(rate), 'row')}/s"]
        self.say(", ".join(parts if standing is None else [*parts, *_facts(standing())]))

    def say(self, text: str) -> None:
        """Show one line, on a terminal in place of the one before."""
        if self._enabled:
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{text}" if self._on_terminal else f"{text}\n")
            sys.stderr.flush()

    def end(self) -> None:
        """Clear the line."""
        if self._shown and self._on_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _facts(standing: Standing) -> Iterator[str]:
    """How far a run is, in words."""
    if standing.share is not None:
        yield f"{standing.share * 100:.0f} % of the files"
    if standing.watermark is not None:
        yield f"watermark {standing.watermark}"
    yield counted(standing.results, "result")
    if standing.lag_seconds is not None:
        yield f"lag {_span(standing.lag_seconds)}"


def _span(seconds: float) -> str:
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.1f} s"
