"""Queries come and go at random moments: each sees exactly what arrived while it was there, and nobody is disturbed."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from tests.language.executors import EngineExecutor
from tests.support.generators import Case, random_case
from tests.support.oracle.answers import canonical, difference
from tests.support.oracle.brute_force import pull_answer
from tests.support.oracle.judge import data_of, oracle_answer

if TYPE_CHECKING:
    from cqc.compiler.meaning import bound

ONCE_FAILED = [135]


class History:
    """One random history of a case: who came and went when."""

    def __init__(self, case: Case, seed: int) -> None:
        self.case = case
        self.rng = Random(seed)
        self.executor = EngineExecutor(
            cqc.compile(case.declarations), sharing=self.rng.random() < 0.7, seed=seed
        )
        self.arrived = 0
        self.waiting = [f"CREATE QUERY n{at} AS {text}" for at, text in enumerate(case.queries)]
        self.since: dict[str, tuple[bound.Query, int]] = {}
        self.left: dict[str, int] = {}

    def play(self) -> None:
        self.executor.push([(n, row) for n, rows in self.case.tables.items() for row in rows])
        while self.arrived < len(self.case.arrivals) or self.waiting:
            step = self.rng.choice([self.push, self.push, self.register, self.unregister, self.ask])
            step()

    def push(self) -> None:
        count = self.rng.randint(1, 8)
        self.executor.push(self.case.arrivals[self.arrived : self.arrived + count])
        self.arrived = min(self.arrived + count, len(self.case.arrivals))

    def register(self) -> None:
        if self.waiting:
            text = self.waiting.pop(self.rng.randrange(len(self.waiting)))
            query = self.executor.register(text)
            if self.rng.random() < 0.3:
                self.waiting.append(text.replace(query.name, f"{query.name}x", 1))
            self.since[query.name] = (query, self.arrived)

    def unregister(self) -> None:
        here = [name for name in self.since if name not in self.left]
        if here:
            name = self.rng.choice(here)
            self.executor.unregister(name)
            self.left[name] = self.arrived

    def ask(self) -> None:
        here = [name for name in self.since if name not in self.left]
        asked = [name for name in here if self.since[name][0].pull is not None]
        if asked:
            query = self.since[self.rng.choice(asked)][0]
            expected = pull_rows(query, self.case, self.arrived)
            wrong = difference(expected, self.executor.invoke(query.name, None))
            assert wrong is None, f"{self.story(query)}\nasked after {self.arrived}: {wrong}"

    def judge(self) -> None:
        found = self.executor.results()
        for name, (query, first) in self.since.items():
            if query.pull is not None:
                continue
            last = self.left.get(name)
            data = data_of(self.case, first, last)
            expected = [(at, *row) for at, row in oracle_answer(query, data)]
            actual = [(at, *row) for at, row in found[name]]
            if last is not None and any(item.rows is not None for item in query.items):
                # What [ROWS] decides only when time has passed is not delivered to one who has left.
                extra = Counter(canonical(actual)) - Counter(canonical(expected))
                assert not extra, f"{self.story(query)}\nnot expected: {extra}"
                continue
            wrong = difference(expected, actual)
            assert wrong is None, f"{self.story(query)}\nfrom {first} to {last}: {wrong}"

    def story(self, query: bound.Query) -> str:
        moments = {name: (first, self.left.get(name)) for name, (_, first) in self.since.items()}
        arrivals = "\n".join(map(str, enumerate(self.case.arrivals)))
        return (
            f"seed {self.case.seed}\n{self.case.program}\n{query.span.text}\n{moments}\n{arrivals}"
        )


def pull_rows(query: bound.Query, case: Case, arrived: int) -> list[tuple[object, ...]]:
    return [tuple(row) for row in pull_answer(query, data_of(case, 0, arrived))]


def check_history(seed: int) -> None:
    """Play one random history and compare every query's results."""
    case = random_case(seed, kinds=("filter", "join", "join", "pull"))
    history = History(case, seed)
    history.play()
    history.judge()


@pytest.mark.parametrize("block", range(10))
def test_every_query_sees_what_arrived_while_it_was_there(block: int) -> None:
    for seed in range(block * 10, block * 10 + 10):
        check_history(seed)


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_a_history_that_once_went_wrong(seed: int) -> None:
    check_history(seed)
