"""Trials of what takes time to change: another arm is tried where it should cost clearly less, and left where it does not.

Now and then what other arms would cost is worked out from what is there. One that would cost clearly less than the present one is
tried, from the next micro-batch on. If a tuple then takes no less time than before, things go back, and the next trial comes
after a longer pause, and not before the work since then pays for what the last one lost. An arm that is far worse is left as soon
as the clock can tell. An estimate that is wrong is so tried ever more seldom, and nothing goes back and forth.

There are two kinds: the shape of one join (`shape_trials`), and which hosts one join serves (`split_trials`).
"""

from __future__ import annotations

from collections.abc import Hashable
from time import perf_counter
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from cqc.runtime.adapt.controller import Controller
from cqc.runtime.adapt.settings import FIRST_LOOK_S

if TYPE_CHECKING:
    from cqc.runtime.adapt.decision import Decision
    from cqc.runtime.adapt.settings import Rule


class Measured(Protocol):
    """What is looked at: tuples that came, and how long they took."""

    @property
    def tuples_in(self) -> int: ...

    @property
    def seconds(self) -> float: ...


Subject = TypeVar("Subject", bound=Measured)
Arm = TypeVar("Arm", bound=Hashable)


class Trials(Generic[Subject, Arm]):
    """The looks at one thing. A kind of trial says when it may change and what to try."""

    def __init__(self, rule: Rule, arm: Arm, *, settling: bool = False) -> None:
        """`settling`: the first stretch is not measured."""
        self.controller: Controller[Arm] = Controller(rule, arm)
        self.decision: Decision | None = None
        self._tuples = 0
        self._seconds = 0.0
        self._settling = settling
        self._look_s = FIRST_LOOK_S
        self._began = (0, 0.0)  # of a trial: tuples and seconds so far
        self._moving_s = 0.0  # of a trial: to change, and to change back

    @property
    def arm(self) -> Arm:
        """How things should be now."""
        return self.controller.arm

    @arm.setter
    def arm(self, arm: Arm) -> None:
        self.controller.arm = arm

    @property
    def changes(self) -> int:
        return self.controller.changes

    @property
    def returns(self) -> int:
        """Changes that were taken back."""
        return self.controller.returns

    @property
    def is_open(self) -> bool:
        """Whether a trial is going on, whose outcome is not known yet."""
        return self.controller.is_trying

    def is_due(self, subject: Subject) -> bool:
        """Whether enough came since the last look to tell something, and took so long that another look does not count."""
        controller = self.controller
        rule = controller.rule
        tuples, seconds = subject.tuples_in - self._tuples, subject.seconds - self._seconds
        if self._settling:
            return tuples >= rule.stretch
        if controller.is_trying:  # judging costs nothing, and waiting may
            if tuples >= rule.stretch and seconds >= rule.enough_s:
                return True
            can_tell = 4 * tuples >= rule.stretch and 2 * seconds >= rule.enough_s
            return can_tell and controller.is_far_worse(seconds / tuples)
        if tuples < controller.pause.length:
            return False
        return seconds * rule.budget >= self._look_s and controller.budget.allows_another(seconds)

    def look(self, subject: Subject) -> bool:
        """Whether things should change, to the `arm` that is now here."""
        tuples, seconds = subject.tuples_in - self._tuples, subject.seconds - self._seconds
        each_s = seconds / max(tuples, 1)
        self.note(subject)
        controller = self.controller
        if not self._may_change(subject):
            controller.end_trial()
            self._settling = False
            controller.pause.longer()
            return False
        if self._settling:  # the first stretch after a change compiles, builds and fills
            self._settling = False
            return False
        if controller.is_trying:
            return self._judge(subject, tuples, each_s)
        controller.budget.worked(seconds)
        started = perf_counter()
        is_new = self._choose(subject, each_s)
        self._look_s = perf_counter() - started
        return is_new

    def note(self, subject: Subject) -> None:
        """Measure from here on."""
        self._tuples, self._seconds = subject.tuples_in, subject.seconds

    def moved(self, subject: Subject, seconds: float = 0.0) -> None:
        """Things were changed as `look` said, in so many seconds."""
        self.note(subject)
        self._moving_s += seconds
        if not self.controller.is_trying:  # back again
            self.controller.budget.lost(self._moving_s)

    def _judge(self, subject: Subject, tuples: int, each_s: float) -> bool:
        controller = self.controller
        stays, before_s = controller.judge(each_s, is_void=self._is_disturbed(subject))
        came, took_s = (
            subject.tuples_in - self._began[0],
            subject.seconds - self._began[1],
        )
        controller.budget.tried(0.0 if stays else took_s - came * before_s)
        self._tell(subject, before_s, each_s, tuples, stays=stays)
        return not stays

    def _try(self, subject: Subject, arm: Arm, each_s: float) -> None:
        """Change the arm, from one with which a tuple took so long."""
        self.controller.begin_trial(arm, each_s)
        self._settling = True
        self._began = (subject.tuples_in, subject.seconds)
        self._moving_s = 0.0

    def _wait_longer(self) -> None:
        self.controller.pause.longer()

    # What a kind of trial says

    def _may_change(self, subject: Subject) -> bool:
        """Whether there is anything to try."""
        raise NotImplementedError

    def _choose(self, subject: Subject, each_s: float) -> bool:
        """Whether another arm should be tried (`_try`); a tuple took so long lately."""
        raise NotImplementedError

    def _is_disturbed(self, subject: Subject) -> bool:
        """Whether so much changed since the trial began that its outcome says nothing."""
        del subject
        return False

    def _tell(
        self, subject: Subject, before_s: float, each_s: float, tuples: int, *, stays: bool
    ) -> None:
        """A trial is over: so long a tuple took before, so long now."""
