"""Joins over different subsets of the same streams, served by one node: each answers as if it were alone."""

from __future__ import annotations

from random import Random

import pytest

import cqc
from cqc.runtime.join.choice.split_trials import SharedNodes, SplitTrials
from tests.property.test_engine import check_case
from tests.property.test_live_queries import History
from tests.property.test_strategies import check_case as check_strategy
from tests.property.test_strategies import random_strategy
from tests.support.generators import random_case

ONCE_FAILED = [48, 108]


def check_subsets(seed: int) -> None:
    """All queries from the start, shared and, now and then, each on its own."""
    case = random_case(seed, kinds=("subsets",), size=6)
    check_case(case, sharing=seed % 5 != 0)


def check_subset_history(seed: int) -> None:
    """Queries that come and go; with pull queries among them, whose joins keep the past."""
    random = Random(seed)
    kinds = ("subsets", "subsets", "pull") if random.random() < 0.3 else ("subsets",)
    history = History(random_case(seed, kinds=kinds, size=6), seed)
    if random.random() < 0.3:
        strategy = random_strategy(random)
        history.executor.engine = cqc.Engine(history.executor.program, strategy=strategy)
    history.play()
    history.judge()


@pytest.mark.parametrize("block", range(10))
def test_queries_over_subsets_of_the_streams_answer_as_the_oracle_does(block: int) -> None:
    for seed in range(block * 6, block * 6 + 6):
        check_subsets(seed)


@pytest.mark.parametrize("block", range(10))
def test_queries_over_subsets_come_and_go_without_disturbing_each_other(block: int) -> None:
    for seed in range(block * 6, block * 6 + 6):
        check_subset_history(seed)


@pytest.mark.parametrize("block", range(4))
def test_every_strategy_answers_queries_over_subsets(block: int) -> None:
    random = Random(block)
    for seed in range(block * 4, block * 4 + 4):
        check_strategy(random_case(seed, kinds=("subsets",), size=5), random_strategy(random))


@pytest.mark.parametrize("block", range(8))
def test_nodes_that_are_split_and_joined_again_lose_and_repeat_nothing(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, changes = Random(block), []

    def look(self: SplitTrials, subject: SharedNodes) -> bool:
        if random.random() < 0.3:
            return False
        groups: dict[int, set[int]] = {}
        for host in sorted(host for group in subject.groups for host in group):
            groups.setdefault(random.randint(0, 2), set()).add(host)
        self.arm = tuple(map(frozenset, groups.values()))
        changes.append(self.arm)
        return True

    monkeypatch.setattr(SplitTrials, "is_due", lambda self, subject: True)
    monkeypatch.setattr(SplitTrials, "look", look)
    for seed in range(block * 5, block * 5 + 5):
        check_subsets(seed)
        check_subset_history(seed)
    assert changes


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_case_that_once_went_wrong(seed: int) -> None:
    check_subsets(seed)
    check_subset_history(seed)
