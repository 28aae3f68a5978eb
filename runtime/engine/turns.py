"""One call at a time: what lets an engine be used from any thread.

The operators of an engine share states, indexes and buffers, and their kernels work on them without Python's lock (the GIL): two
calls at once would write past the end of a buffer that was measured for the other, follow chains that are being linked, or read
from an address where an array no longer is. So every public call of an engine is a turn, and turns never overlap. Those who wait
are served in the order in which they came: a thread that pushes in a tight loop cannot keep out one that wants to drain.

A call from inside a turn of the same thread can only come from code that the engine calls itself: a user's function, a
listener, a clock. It would find the engine half way through its work, and is refused. A call from another thread, for which such
code waits, cannot be told from any other that waits for its turn: the two wait for each other for ever. Where a user's function
lets the refusal through, its values are NULL as for any failure, the turn is worked to its end, and then its caller is told.

    class Engine:
        @changes
        def push(self, ...): ...    # alone, and not after close

        @reads
        def counts(self): ...       # alone
"""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import contextmanager
from functools import wraps
from threading import get_ident
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakSet

from cqc.runtime.errors import ReentrantCallError, RunError
from cqc.runtime.expressions.function_faults import FunctionFaults, at_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

P = ParamSpec("P")
R = TypeVar("R")
_all_turns: WeakSet[Turns] = WeakSet()


class Turns:
    """Who works on one engine, and who waits for it.

    During a turn, faults of users' functions are noted in `faults`.
    """

    def __init__(self) -> None:
        self.faults = FunctionFaults()
        self._faults_before: FunctionFaults | None = (
            None  # an engine may be used by a function of another
        )
        self._turn = threading.Lock()  # whoever holds it works; it is handed on to the next in line
        self._owner: int | None = None  # the thread whose turn it is
        self._doing = ""
        self._line = threading.Lock()  # guards the line; held for a few instructions only
        self._waiting: deque[threading.Lock] = deque()  # each opens when its turn has come
        self.is_closed = False
        self._is_cut = False  # the process was forked in the middle of a turn of the other process
        _all_turns.add(self)

    @contextmanager
    def take(self, call: str) -> Iterator[None]:
        """Work alone, once those who came before are done."""
        self.begin(call)
        try:
            yield
        finally:
            self.end()

    def close(self) -> None:
        """Let turns end, and none begin but those that read."""
        with self.take("close"):
            self.is_closed = True

    def check_open(self, call: str) -> None:
        """Refuse what would change something that was closed."""
        if self.is_closed:
            raise RunError(f"the engine is closed: engine.{call} is not possible any more")

    def begin(self, call: str) -> None:
        """Wait for a turn; `end` must follow.

        Args:
            call: the name of the public call, for messages.

        Raises:
            RunError: when it is called from inside a turn.
        """
        if not self._turn.acquire(False):
            self._wait(call)
        self._owner, self._doing = get_ident(), call
        self._faults_before, at_work.faults = at_work.faults, self.faults

    def end(self) -> None:
        """Let the next one begin."""
        at_work.faults = self._faults_before
        self._owner = None
        if not self._waiting:
            self._turn.release()
            if not self._waiting or not self._turn.acquire(False):  # nobody came in between
                return
        self._hand_over()

    def _wait(self, call: str) -> None:
        """Stand in line, until the turn is handed over."""
        if self._is_cut:
            raise RunError(
                "this process was forked while another thread was at work in the engine:"
                " make the engine after the fork"
            )
        if self._owner == get_ident():
            raise ReentrantCallError(
                f"engine.{call} was called from inside engine.{self._doing}: what the engine calls itself (a function,"
                " a listener) cannot call the engine"
            )
        gate = threading.Lock()
        gate.acquire()
        with self._line:
            self._waiting.append(gate)
        if self._turn.acquire(False):  # it ended before it could see who waits
            self._hand_over()
        try:
            gate.acquire()
        except BaseException:  # Ctrl-C while waiting
            self._give_up(gate)
            raise

    def _hand_over(self) -> None:
        """Give a turn that is held to the first in line, or to nobody."""
        with self._line:
            if self._waiting:
                self._waiting.popleft().release()
            else:
                self._turn.release()

    def _give_up(self, gate: threading.Lock) -> None:
        """Leave the line; where the turn has come in the meantime, the next one has it."""
        with self._line:
            waits = gate in self._waiting
            if waits:
                self._waiting.remove(gate)
        if not waits:
            self._hand_over()

    def _start_anew(self) -> None:
        """The process was forked, and only the thread that did it goes on here."""
        mine = self._owner == get_ident()
        self._is_cut = self._is_cut or (self._turn.locked() and not mine)
        self._line = threading.Lock()
        self._turn = threading.Lock()
        self._waiting.clear()
        if mine or self._is_cut:
            self._turn.acquire()


class TakesTurns(Protocol):
    """Something whose public calls are turns."""

    _turns: Turns


S = TypeVar("S", bound=TakesTurns)


def reads(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A public call that only tells something; it is also possible after `close`."""
    name = method.__name__

    @wraps(method)
    def turn(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        turns = self._turns
        turns.begin(name)
        try:
            return method(self, *args, **kwargs)
        finally:
            turns.end()

    return turn


def changes(method: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A public call that may change something."""
    name = method.__name__.removeprefix("_")

    @wraps(method)
    def turn(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        turns = self._turns
        turns.begin(name)
        try:
            if turns.is_closed:
                turns.check_open(name)
            result = method(self, *args, **kwargs)
            if turns.faults.reentered:
                turns.faults.raise_reentered()
            return result
        finally:
            turns.end()

    return turn


def _after_fork() -> None:
    for turns in list(_all_turns):
        turns._start_anew()


os.register_at_fork(after_in_child=_after_fork)
