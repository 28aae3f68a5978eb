"""The thread of the engine: work comes from other threads and is done one piece at a time, questions and changes by turns.

Both kinds have a queue of their own. When both wait, the kind that has had less time goes first, so a client that pushes rows as
fast as it can does not keep those who ask waiting behind every micro-batch, nor do they keep the rows out. Within a kind the order
is that of arrival; whoever waits for a change to be made before asking sees it, because a question asked later runs later.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")
_Work = tuple["Future[Any]", "Callable[[], Any]"]


class EngineThread:
    """Runs work in one thread until `stop`."""

    def __init__(self) -> None:
        self._questions: deque[_Work] = deque()
        self._changes: deque[_Work] = deque()
        self._more = threading.Condition()
        self._stopping = False
        self._lead_s = 0.0  # how much more time questions have had than changes while both waited
        self._thread = threading.Thread(target=self._run, name="cqc-engine", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], T], *, is_question: bool) -> Future[T]:
        """Let the thread do something."""
        future: Future[T] = Future()
        with self._more:
            if self._stopping:
                raise RuntimeError("the engine's thread has been stopped")
            (self._questions if is_question else self._changes).append((future, work))
            self._more.notify()
        return future

    def stop(self) -> None:
        """Finish what is queued, then end the thread."""
        with self._more:
            self._stopping = True
            self._more.notify()
        self._thread.join()

    def _run(self) -> None:
        while (chosen := self._take()) is not None:
            (future, work), is_question = chosen
            if not future.set_running_or_notify_cancel():
                continue
            started = time.perf_counter()
            try:
                result = work()
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)
            spent = time.perf_counter() - started
            self._lead_s += spent if is_question else -spent

    def _take(self) -> tuple[_Work, bool] | None:
        """The next piece of work and whether it is a question; None at the end."""
        with self._more:
            while not self._questions and not self._changes:
                if self._stopping:
                    return None
                self._more.wait()
            if not (self._questions and self._changes):
                self._lead_s = 0.0  # nobody was kept waiting, so nobody has a claim
            if self._questions and (not self._changes or self._lead_s <= 0):
                return self._questions.popleft(), True
            return self._changes.popleft(), False
