"""Ctrl-C ends a run between two micro-batches, so that every result found is written, whole and once.

The first Ctrl-C is noted, and heard when the micro-batch in hand is done; a second one is heard at once.
"""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Self


class Interrupts:
    """While it is entered, SIGINT waits for `check`.

    Args:
        deferred: with False, for runs that wait for input and stop cleanly by themselves, nothing changes.
    """

    def __init__(self, *, deferred: bool) -> None:
        # Python lets only the main thread say what a signal does.
        self._deferred = deferred and threading.current_thread() is threading.main_thread()
        self._before: object = None
        self._asked = False

    def __enter__(self) -> Self:
        # A shell starts background jobs with SIGINT ignored, and it stays so.
        if self._deferred and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        """Between two micro-batches: raise KeyboardInterrupt when somebody asked to stop."""
        if self._asked:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
