"""Trials over stretches of work: when they are looked at, what they may cost, and when they are left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from cqc.runtime.adapt import trials as module
from cqc.runtime.adapt.settings import Rule
from cqc.runtime.adapt.trials import Trials

RULE = Rule(better=0.9, worse=2.0, stretch=100, longest=1 << 20, enough_s=0.02)
BATCH = 10


@dataclass
class Work:
    """Something that takes so long a tuple with each arm."""

    each_s: dict[str, float]
    tuples_in: int = 0
    seconds: float = 0.0

    def run(self, arm: str, tuples: int = BATCH) -> None:
        self.tuples_in += tuples
        self.seconds += tuples * self.each_s[arm]


class Two(Trials[Work, str]):
    """Always expects the other arm to be better."""

    def __init__(self, rule: Rule = RULE) -> None:
        super().__init__(rule, "a")
        self.told: list[bool] = []
        self.is_disturbed = False
        self.allowed = True

    def _may_change(self, subject: Work) -> bool:
        return self.allowed

    def _is_disturbed(self, subject: Work) -> bool:
        return self.is_disturbed

    def _choose(self, subject: Work, each_s: float) -> bool:
        if self.arm == "b":
            self._wait_longer()
            return False
        self._try(subject, "b", each_s)
        return True

    def _tell(
        self, subject: Work, before_s: float, each_s: float, tuples: int, *, stays: bool
    ) -> None:
        self.told.append(stays)


@pytest.fixture(autouse=True)
def looks_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "perf_counter", lambda: 0.0)


def play(trials: Two, work: Work, batches: int, moving_s: float = 0.0) -> list[str]:
    arms = []
    for _ in range(batches):
        work.run(trials.arm)
        arms.append(trials.arm)
        if trials.is_due(work) and trials.look(work):
            trials.moved(work, moving_s)
    return arms


def test_an_arm_that_is_better_is_kept() -> None:
    trials = Two()
    arms = play(trials, Work({"a": 1e-3, "b": 5e-4}), 200)
    assert arms[-1] == "b"
    assert (trials.changes, trials.returns, trials.told) == (1, 0, [True])


def test_an_arm_that_is_no_better_goes_back_and_is_tried_ever_more_seldom() -> None:
    trials = Two()
    arms = play(trials, Work({"a": 1e-3, "b": 1e-3}), 20_000)
    assert trials.changes == trials.returns
    assert 2 <= trials.changes <= 8
    assert arms.count("b") < 0.02 * len(arms)


def test_an_arm_that_is_far_worse_is_left_before_its_stretch_is_over() -> None:
    slow, far = (play(Two(), Work({"a": 1e-3, "b": each_s}), 120) for each_s in (1.5e-3, 1e-1))
    assert far.count("b") < slow.count("b")
    # The stretch that builds and fills, and a quarter of the one that is measured.
    assert far.count("b") * BATCH <= RULE.stretch + RULE.stretch // 4 + 2 * BATCH


def test_what_trials_lose_is_paid_for_before_the_next_one() -> None:
    trials, work = Two(), Work({"a": 1e-3, "b": 2e-2})
    play(trials, work, 100_000, moving_s=0.5)
    assert trials.returns >= 2
    lost = trials.controller.budget.spent_s
    assert lost > 1.0  # with what the moves took
    last = trials.controller.budget.loss_s + 0.5 * 2  # which nothing has paid for yet
    assert lost - last <= RULE.budget * work.seconds


def test_a_look_waits_until_the_work_is_worth_it() -> None:
    trials, work = Two(), Work({"a": 1e-3})
    trials._look_s = 0.04
    work.run("a", 1_999)
    assert not trials.is_due(work)
    work.run("a", 2)
    assert trials.is_due(work)


def test_a_trial_is_judged_when_the_clock_can_tell() -> None:
    trials, work = Two(), Work({"a": 1e-3, "b": 1e-6})
    play(trials, work, 11)
    while trials.arm == "a" or trials._settling:
        play(trials, work, 1)
    work.run("b", RULE.stretch)
    assert not trials.is_due(work)  # 0.1 ms
    work.run("b", 20_000)
    assert trials.is_due(work)


def test_a_trial_that_was_disturbed_goes_back() -> None:
    trials = Two()
    trials.is_disturbed = True
    play(trials, Work({"a": 1e-3, "b": 5e-4}), 100)
    assert trials.told[0] is False


def test_nothing_is_tried_while_nothing_may_change() -> None:
    trials = Two(replace(RULE))
    trials.allowed = False
    assert set(play(trials, Work({"a": 1e-3}), 500)) == {"a"}
    assert not trials.is_open
