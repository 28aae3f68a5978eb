"""Ctrl-C ends a run between two micro-batches, so that every result found is written, whole and once.

The first Ctrl-C is noted, and heard when the micro-batch in hand is done. A second one is heard at once, and so is the
first when the micro-batch does not end soon: it may be waiting for input that never comes.

Nothing is open and nothing has been said while modules are loaded, and nothing is left to do after a command, so there the
process simply ends, with the exit code of an interrupted run. An exception would not do: raised in the middle of an import it
shows where that was, and some modules turn it into another one, or drop it.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType
    from typing import Self

INTERRUPTED = 130
PATIENCE_S = 0.6  # an answer within a second


class Interrupts:
    """While it is entered, SIGINT waits for `check`.

    Args:
        deferred: with False, for runs that stop cleanly by themselves, nothing changes.
    """

    def __init__(self, *, deferred: bool) -> None:
        # Python lets only the main thread say what a signal does.
        self._wanted = deferred and threading.current_thread() is threading.main_thread()
        self._entered = False
        self._asked = False
        self._before = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> Self:
        # A shell starts background jobs with SIGINT ignored, and it stays so. The handler may be another than Python's: a
        # Spark session in the same process sets its own.
        self._before = signal.getsignal(signal.SIGINT)
        if self._wanted and callable(self._before):
            signal.signal(signal.SIGINT, self._note)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            self._entered = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._entered:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, self._before)

    def check(self) -> None:
        """Between two micro-batches: raise KeyboardInterrupt when somebody asked to stop."""
        if self._asked:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)


def end_on_interrupt() -> None:
    """There is nothing to clean up: Ctrl-C ends the process at once. Background jobs, which ignore it, go on ignoring it."""
    if callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, _end_at_once)


def raise_on_interrupt() -> None:
    """From now on Ctrl-C is an exception, for whoever has something to clean up."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def loading() -> Iterator[None]:
    """While modules are loaded that take a while, before anything is open."""
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, _end_at_once)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end_at_once(number: int, frame: object) -> None:
    del number, frame
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)
