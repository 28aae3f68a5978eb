"""Trials of what runs: another way is tried where it should cost clearly less, and given up where it does not.

Now and then what other ways would cost is worked out from what is there. One that would cost clearly less than the present one is
tried, from the next micro-batch on. If a tuple then takes no less time than before, things go back, and the next trial comes
after twice as long. An estimate that is wrong is so tried ever more seldom, and nothing goes back and forth.

There are two kinds: the shape of one join (`shape_trials`), and which hosts one join serves (`split_trials`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Generic, Protocol, TypeVar

LOOK_TUPLES = 256  # from one look to the next, at first
_MOST_TUPLES = 1 << 20
LOOKS_SHARE = 0.03  # of the time of the join is spent on looking at it
CLEARLY = 0.6  # another way must be expected to cost less than so much
BETTER = 0.9  # and a tuple must then take less than so much of the time


class Measured(Protocol):
    """What is looked at: tuples that came, and how long they took."""

    @property
    def tuples_in(self) -> int: ...

    @property
    def seconds(self) -> float: ...


Subject = TypeVar("Subject", bound=Measured)
Way = TypeVar("Way")


@dataclass(slots=True)
class Trials(Generic[Subject, Way]):
    """The looks at one thing; `way` is how it is now. A kind of trial says when it may change and what to try."""

    way: Way
    changes: int = 0
    returns: int = 0  # changes that were taken back
    stretch: int = field(default_factory=lambda: LOOK_TUPLES)  # so many tuples tell what one costs
    _tuples: int = 0
    _seconds: float = 0.0
    _period: int = 0
    _pause: int = 0
    _before: tuple[Way, float] | None = None  # of a trial: where it came from, seconds a tuple
    _settling: bool = False
    _look_s: float = 0.005

    def __post_init__(self) -> None:
        self._period = self._pause = self.stretch

    @property
    def is_open(self) -> bool:
        """Whether a trial is going on, whose outcome is not known yet."""
        return self._before is not None

    def is_due(self, subject: Subject) -> bool:
        """Whether enough tuples came since the last look, and took so long that another one does not count."""
        if subject.tuples_in - self._tuples < self._period:
            return False
        return (subject.seconds - self._seconds) * LOOKS_SHARE >= self._look_s

    def look(self, subject: Subject) -> bool:
        """Whether things should change, to the `way` that is now here."""
        each_s = (subject.seconds - self._seconds) / max(subject.tuples_in - self._tuples, 1)
        self.note(subject)
        if not self._may_change(subject):
            self._before, self._settling = None, False
            self._wait_longer()
            return False
        if self._settling:  # the first stretch after a change compiles, builds and fills
            self._settling = False
            return False
        if self._before is not None:
            came_from, before_s = self._before
            self._before = None
            if each_s >= BETTER * before_s or self._is_disturbed(subject):
                self.way = came_from
                self.returns += 1
                self._pause = self._period = min(4 * self._pause, _MOST_TUPLES)
                self._went_back(subject, before_s, each_s)
                return True
            self._pause = self.stretch
            self._stays(subject, before_s, each_s)
            return False
        started = perf_counter()
        is_new = self._choose(subject, each_s)
        self._look_s = perf_counter() - started
        return is_new

    def note(self, subject: Subject) -> None:
        """Measure from here on."""
        self._tuples, self._seconds = subject.tuples_in, subject.seconds

    def _try(self, way: Way, each_s: float) -> None:
        """Change the way, from one with which a tuple took so long."""
        self._before = (self.way, each_s)
        self._settling = True
        self._period = self.stretch  # a trial is short, however long the pause before it was
        self.way = way
        self.changes += 1

    def _wait_longer(self) -> None:
        self._pause = self._period = min(2 * self._pause, _MOST_TUPLES)

    # What a kind of trial says

    def _may_change(self, subject: Subject) -> bool:
        """Whether there is anything to try."""
        raise NotImplementedError

    def _choose(self, subject: Subject, each_s: float) -> bool:
        """Whether another way should be tried (`_try`); a tuple took so long lately."""
        raise NotImplementedError

    def _is_disturbed(self, subject: Subject) -> bool:
        """Whether so much changed since the trial began that its outcome says nothing."""
        del subject
        return False

    def _stays(self, subject: Subject, before_s: float, each_s: float) -> None:
        """A trial went well: so long a tuple took before, so long now."""

    def _went_back(self, subject: Subject, before_s: float, each_s: float) -> None:
        """A trial went badly."""
