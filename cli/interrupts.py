"""Ctrl-C and SIGTERM end a run between two micro-batches, so that every result found is written, whole and once.

Both are asked the same thing, by a person and by a service manager, and both get the same answer. The first one is noted, and
heard when the micro-batch in hand is done. When that does not end soon, it is asked to give up: a join does so between two
calls of its kernels, whoever else works for it included. What does not hear that either is interrupted where it stands: it may
be waiting for input that never comes. A second one is heard at once. A third one ends the process.

Nothing is open and nothing has been said while modules are loaded, and nothing is left to do after a command, so there the
process simply ends, with the exit code of an interrupted run. An exception would not do: raised in the middle of an import it
shows where that was, and some modules turn it into another one, or drop it.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from cqc.cli.stop_at_once import STOPS, end_at_once, end_on_interrupt, heard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType, TracebackType
    from typing import Self

# An answer within a second.
GRACE_S = 0.25  # for the micro-batch in hand to end
PATIENCE_S = 0.6  # for it to give up


class Interrupts:
    """While it is entered, signals that ask for a stop are noted, and wait for `check`.

    Args:
        deferred: with False, for runs that stop cleanly wherever they are, the first one is an exception at once.
        give_up: tells the run not to finish what it has in hand.
    """

    def __init__(self, *, deferred: bool, give_up: Callable[[], None] = lambda: None) -> None:
        self._deferred = deferred
        self._give_up = give_up
        self._was_told = False
        self._times = 0
        self._closing = False
        self._before: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        """Whether somebody has asked to stop."""
        return self._times > 0

    def __enter__(self) -> Self:
        # Python lets only the main thread say what a signal does. The handler may be another than Python's: a Spark session in
        # the same process sets its own.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.getsignal(number) for number in heard()}
            for number in self._before:
                signal.signal(number, self._note)
            signal.signal(signal.SIGALRM, self._again)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
        for number, action in self._before.items():
            signal.signal(number, action)

    def check(self) -> None:
        """Between two micro-batches: raise KeyboardInterrupt when somebody asked to stop.

        Nothing happens in another thread than the one that hears signals, in which the run is stopped.
        """
        if self.asked and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    def now_closing(self) -> None:
        """The run is over, and what it holds is being closed: that is not given up for the first who asks to stop."""
        self._closing = True
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._times += 1
        if self._times > 2:
            end_at_once(number, frame)
        if self._times == 2:
            raise KeyboardInterrupt
        if self._closing:
            return
        if not self._deferred:
            self._was_told = True  # the exception says it
            signal.setitimer(signal.ITIMER_REAL, PATIENCE_S)
            raise KeyboardInterrupt
        signal.setitimer(signal.ITIMER_REAL, min(GRACE_S, PATIENCE_S))

    def _again(self, number: int, frame: FrameType | None) -> None:
        """The run has not stopped: the micro-batch takes long, or Python dropped the exception, as it does in a finalizer."""
        del number, frame
        if not self._was_told:
            self._was_told = True
            self._give_up()
            signal.setitimer(signal.ITIMER_REAL, max(PATIENCE_S - GRACE_S, 0.001))
            return
        if sys.exception() is None:  # else the run is on its way out, and may take its time
            raise KeyboardInterrupt


def raise_on_interrupt() -> None:
    """From now on a stop is an exception, for whoever has something to clean up."""
    for number in STOPS:
        if signal.getsignal(number) is end_at_once:
            signal.signal(number, signal.default_int_handler)


def ignore_interrupts() -> None:
    """While Python takes itself apart signals do what they do to any process: it would end by one, with all work done."""
    for number in STOPS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def loading() -> Iterator[None]:
    """While modules are loaded that take a while, before anything is open."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in heard()}
    end_on_interrupt()
    try:
        with no_garbage():
            yield
    finally:
        for number, action in before.items():
            signal.signal(number, action)


@contextmanager
def no_garbage() -> Iterator[None]:
    """While something is made that stays, as modules and programs do: looking at all of it again and again takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # nor is it looked at later
        if was_enabled:
            gc.enable()
