"""Ctrl-C ends a run between two micro-batches, so that every result found is written, whole and once.

The first Ctrl-C is noted, and heard when the micro-batch in hand is done. A second one is heard at once, and so is the
first when the micro-batch does not end soon: it may be waiting for input that never comes.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self

PATIENCE_S = 3.0


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
