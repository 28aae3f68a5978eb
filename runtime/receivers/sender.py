"""The thread that sends: reads a spool from its own place on, hands results to a receiver, tries again, and never gives up silently.

Whatever a receiver does, the engine does not wait for it: results are in the spool. A receiver that is down is tried again after growing
pauses; what it will never take becomes a dead letter, with the reason.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from cqc.runtime.errors import RunError
from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json
from cqc.runtime.receivers.receiver import RefusedError, Ticking, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from pathlib import Path

    from cqc.runtime.receivers.receiver import Receiver, Sent
    from cqc.runtime.receivers.spool import Spool

T = TypeVar("T")
_LOOK_S = 0.2  # how often a sender without work looks whether it should end
_PAUSES_S = (0.1, 60.0)  # after a failure: the first pause, and the longest
_SAY_AGAIN_S = 30.0  # the same of results that are refused
_NOTE_EVERY_S = 0.2  # how often the place is written down while results flow


@dataclass(slots=True)
class SinkStatus:
    """What became of a sink's results, for summaries, `cqc sinks`, metrics and the console."""

    name: str
    type: str
    sent: int = 0
    dead: int = 0  # refused for good
    lost: int = 0  # of those, the ones that are in no file of dead letters
    dropped: int = 0
    failures: int = 0
    waiting: int = 0
    waiting_bytes: int = 0
    last_error: str = ""
    is_failing: bool = False
    last_sent: float = 0.0  # seconds since the epoch


_COUNTS = ("sent", "dead", "lost", "dropped")  # of a sink's status, that go on after a restart


class Place:
    """How far a sender is, and what became of the results up to there; in a file where there is a checkpoint."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.number = 0
        self._counts: dict[str, int] = {}
        if path is not None and path.exists():
            known = read_sealed_json(path)
            self.number = int(known["sent"])
            self._counts = known.get("counts", {"sent": self.number})
        self._noted, self._noted_at = self.number, 0.0

    def tell(self, status: SinkStatus) -> None:
        """Let a status go on where the last start left it."""
        for name in _COUNTS:
            setattr(status, name, self._counts.get(name, 0))

    def reach(self, number: int, status: SinkStatus) -> None:
        """The results up to a number are done with; the status says what became of them."""
        self.number = max(self.number, number)
        self._counts = {name: getattr(status, name) for name in _COUNTS}

    def note(self, *, now: bool = False) -> None:
        """Write it down, now and then; a place that is a little behind means that a few results are sent again."""
        if self._path is None or self._noted == self.number:
            return
        if now or time.monotonic() - self._noted_at > _NOTE_EVERY_S:
            content = {"sent": self.number, "counts": self._counts}
            write_sealed_json(self._path, content, durably=False)
            self._noted, self._noted_at = self.number, time.monotonic()


class Sender:
    """Sends the results of one sink.

    Args:
        status: what is told of it.
        spool: where results wait.
        open_receiver: connects; called again after every failure.
        place: how far it is.
        retries: how often results are tried again before they are dead letters; None: always.
        dead_letters: a file for those; None: they are only counted.
        say: told when the receiver fails for the first time, and when it is there again.
        hide: takes the values of secrets out of what receivers say of their failures.
    """

    def __init__(
        self,
        status: SinkStatus,
        spool: Spool,
        open_receiver: Callable[[], Receiver],
        place: Place,
        *,
        retries: int | None = None,
        dead_letters: Path | None = None,
        say: Callable[[str], None] = lambda text: None,
        hide: Callable[[str], str] = lambda text: text,
    ) -> None:
        self.status = status
        self._spool = spool
        self._open = open_receiver
        self._place = place
        place.tell(status)
        self._retries = retries
        self._dead_letters = dead_letters
        self._say = say
        self._hide = hide
        self._receiver: Receiver | None = None
        self._ticks = False  # whether the receiver has something to do now and then
        self._dead_told_at: float | None = None  # when something was said of refused results
        self._in_hand = 0  # the number of the last result that is being sent
        self._ending = threading.Event()
        self.failure: RunError | None = None  # why it cannot go on at all
        self._thread = threading.Thread(target=self._work, name=f"sink {status.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_done(self) -> bool:
        """Whether nothing waits."""
        return self._place.number >= self._spool.last

    def skip_to(self, number: int) -> None:
        """Results up to a number were dropped; those in hand are still tried."""
        begin = max(self._place.number, self._in_hand)
        self.status.dropped += max(number - begin, 0)
        self._place.reach(number, self.status)

    def measure(self) -> SinkStatus:
        """The status with what waits now."""
        self.status.waiting = max(self._spool.last - self._place.number, 0)
        self.status.waiting_bytes = self._spool.bytes if self.status.waiting else 0
        return self.status

    def end(self, wait_s: float = 5.0) -> None:
        """Stop sending; what waits stays in the spool."""
        self._ending.set()
        self._thread.join(wait_s)
        if not self._thread.is_alive():
            self._place.note(now=True)

    def _work(self) -> None:
        try:
            self._begin()
            while not self._ending.is_set():
                results = self._spool.read(self._place.number, self._at_once(), _LOOK_S)
                if results:
                    self._deliver(results)
                self._tick()
                self._place.note()
        except RunError as error:
            self.failure = error
            self.status.is_failing, self.status.last_error = True, self._hide(str(error))
            self._say(f"sink {self.status.name}: {self.status.last_error}")
        finally:
            if self._receiver is not None:
                self._receiver.close()
                self._receiver = None  # packages tell of objects that are held when Python ends

    def _tick(self) -> None:
        """Let the receiver do its regular work."""
        if self._receiver is None and not self._ticks:
            return
        try:
            self._ticks = self._called(_tick)
        except UnreachableError as error:
            self._wait_after(error, _PAUSES_S[0] * 10)
        except RefusedError as error:
            self.status.failures += 1
            self.status.last_error = self._hide(str(error))
        else:
            self._works_again()

    def _begin(self) -> None:
        """Begin where the receiver says it is, if it keeps that; else where the sender was."""
        pause_s = _PAUSES_S[0]
        while not self._ending.is_set():
            try:
                stored = self._called(lambda receiver: receiver.stored())
            except UnreachableError as error:
                pause_s = self._wait_after(error, pause_s)
                continue
            self._works_again()
            if stored is not None:
                # What it took just before a crash is in its own book alone.
                self.status.sent += max(stored - self._place.number, 0)
                self._place.reach(stored, self.status)
                self._place.number = stored
                self._spool.forget(stored)
            return

    def _called(self, call: Callable[[Receiver], T]) -> T:
        """What a call of the receiver gives; whatever it raises that is not ours is a failure like others.

        Receivers are users' own, too: nothing that one raises may end this thread without a word.
        """
        try:
            if self._receiver is None:
                self._receiver = self._open()
            return call(self._receiver)
        except (UnreachableError, RefusedError, RunError):
            raise
        except Exception as error:
            raise UnreachableError(f"{type(error).__name__}: {error}") from error

    def _at_once(self) -> int:
        return 1 if self._receiver is None else self._receiver.at_once

    def _deliver(self, results: Sequence[Sent]) -> None:
        """Send results until they are taken or refused; when the sender is ending, what is left stays in the spool."""
        left, pause_s = results, _PAUSES_S[0]
        attempts: Counter[int] = Counter()  # by the number of a result
        self._in_hand = results[-1].number
        while left and not self._ending.is_set():
            try:
                self._called(partial(_send, left))
            except UnreachableError as error:
                if error.taken:
                    pause_s = _PAUSES_S[0]  # it is there, after all
                left = self._without(left, error.taken)
                tried = {each.number for each in left} if error.tried is None else error.tried
                attempts.update(tried)
                given_up = self._given_up(left, tried, attempts)
                if given_up:
                    self._failed(self._hide(str(error)))
                    self._bury(given_up, self._hide(str(error)), error.status, attempts)
                    left = _others(left, given_up)
                else:
                    pause_s = self._wait_after(error, pause_s)
            except RefusedError as error:
                left = self._without(left, error.taken)
                refused = [
                    each for each in left if error.refused is None or each.number in error.refused
                ]
                attempts.update(each.number for each in refused)
                self.status.failures += 1
                self.status.last_error = self._hide(str(error))
                self._bury(refused, self._hide(str(error)), error.status, attempts)
                left = _others(left, refused)
            else:
                self._works_again()
                self.status.sent += len(left)
                left = []
        if left:
            return
        self.status.last_sent = time.time()
        self._place.reach(results[-1].number, self.status)
        self._spool.forget(self._place.number)

    def _given_up(
        self, left: Sequence[Sent], tried: Collection[int], attempts: Mapping[int, int]
    ) -> list[Sent]:
        """Those that were tried as often as they may be."""
        if self._retries is None:
            return []
        most = self._retries + 1
        return [each for each in left if each.number in tried and attempts[each.number] >= most]

    def _without(self, results: Sequence[Sent], taken: Collection[int]) -> Sequence[Sent]:
        """Results without those that were taken."""
        self.status.sent += len(taken)
        return [each for each in results if each.number not in taken] if taken else results

    def _wait_after(self, error: UnreachableError, pause_s: float) -> float:
        """Wait before the next attempt. Returns how long to wait after that."""
        self._failed(self._hide(str(error)))
        self._ending.wait(max(pause_s, error.after_s or 0))
        return min(pause_s * 2, _PAUSES_S[1])

    def _failed(self, reason: str) -> None:
        self.status.failures += 1
        self.status.last_error = reason
        if not self.status.is_failing:
            self.status.is_failing = True
            self._say(f"sink {self.status.name}: {reason}; results wait")
        if self._receiver is not None:
            self._receiver.close()
            self._receiver = None

    def _works_again(self) -> None:
        if self.status.is_failing:
            self.status.is_failing = False
            self._say(f"sink {self.status.name} takes results again")

    def _bury(
        self,
        results: Sequence[Sent],
        reason: str,
        status: int | None,
        attempts: Mapping[int, int],
    ) -> None:
        """Put results aside that the receiver will never take."""
        self.status.dead += len(results)
        self.status.is_failing = False
        self._tell_dead(results, reason)
        if self._dead_letters is None:
            self.status.lost += len(results)
            return
        letters = "".join(_letter(each, reason, status, attempts[each.number]) for each in results)
        try:
            self._dead_letters.parent.mkdir(parents=True, exist_ok=True)
            with self._dead_letters.open("a", encoding="utf-8") as file:
                file.write(letters)
        except OSError as error:
            raise RunError(
                f"cannot write {self._dead_letters}: {error.strerror or error}"
            ) from error

    def _tell_dead(self, results: Sequence[Sent], reason: str) -> None:
        """Say that results were refused: at once for the first, then now and then with how many there were by then."""
        if self._dead_told_at is not None and time.monotonic() - self._dead_told_at < _SAY_AGAIN_S:
            return
        where = "lost, because the sink has no dead_letters"
        if self._dead_letters is not None:
            where = f"see {self._dead_letters}"
        many = f"{len(results):,} results" if len(results) > 1 else f"result {results[0].id}"
        if self._dead_told_at is not None:
            many = f"{self.status.dead:,} results so far"
        self._dead_told_at = time.monotonic()
        self._say(f"sink {self.status.name} did not take {many} ({reason}), {where}")


def _letter(result: Sent, reason: str, status: int | None, attempts: int) -> str:
    """A dead letter: the line as it is, with what became of it."""
    more = json.dumps(
        {"status": status, "reason": reason, "attempts": attempts}, ensure_ascii=False
    )
    return f"{result.line[:-1]}, {more[1:]}\n"


def _others(results: Sequence[Sent], gone: Sequence[Sent]) -> list[Sent]:
    numbers = {each.number for each in gone}
    return [each for each in results if each.number not in numbers]


def _tick(receiver: Receiver) -> bool:
    """Let a receiver do its regular work, if it has any. Returns whether it has."""
    if not isinstance(receiver, Ticking):
        return False
    receiver.tick()
    return True


def _send(results: Sequence[Sent], receiver: Receiver) -> None:
    receiver.send(results)
