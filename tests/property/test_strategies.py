"""Every combination of switches gives the same answers: random programs, data and micro-batches, judged by the oracle."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.physical.node_planner import NodePlanner
from cqc.compiler.physical.strategy import JOINS as EVERY_JOIN
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.join.choice.shape_trials import ShapeTrials
from tests.language.executors import EngineExecutor
from tests.property.test_live_queries import History
from tests.support.generators import Case, random_case
from tests.support.oracle.answers import difference
from tests.support.oracle.judge import data_of, oracle_answer

if TYPE_CHECKING:
    from cqc.compiler.physical.tree_shape import Shape
    from cqc.runtime.join.execute.join_node import JoinNode

JOINS = tuple(join for join in EVERY_JOIN if join != "auto")
FEEDBACKS = ("off", "exact", "bloom", "demand", "auto")
ROUTINGS = ("lottery", "selectivity", "fixed", "random")
ORDERS = ("adaptive", "AJW", "AWJ", "JAW", "JWA", "WAJ", "WJA")
PACKETS = (None, 1, 3)
SWITCHES = list(product(JOINS, FEEDBACKS, ROUTINGS, ORDERS, PACKETS))


def random_strategy(
    random: Random, join: str | None = None, feedback: str | None = None
) -> Strategy:
    chosen, told, routing, order, packet = random.choice(SWITCHES)
    return Strategy(
        join=join or chosen,
        feedback=feedback or told,
        routing=routing,
        order=order,
        packet=packet,
        sharing=random.random() < 0.7,
    )


def executor_of(program: cqc.Program, strategy: Strategy, seed: int) -> EngineExecutor:
    executor = EngineExecutor(program, sharing=True, seed=seed)
    executor.engine = cqc.Engine(program, strategy=strategy)
    return executor


def check_case(case: Case, strategy: Strategy, text: str | None = None) -> None:
    """Run one program (or a text of it) with the strategy; raises with all that is needed to see why an answer differs."""
    program = cqc.compile(text or case.program)
    executor = executor_of(program, strategy, case.seed)
    executor.push([(name, row) for name, rows in case.tables.items() for row in rows])
    executor.push(case.arrivals)
    data = data_of(case)
    found = executor.results()
    for query in program.queries:
        if query.pull is not None:
            continue
        expected = [(at, *row) for at, row in oracle_answer(query, data)]
        wrong = difference(expected, [(at, *row) for at, row in found[query.name]])
        assert wrong is None, (
            f"seed {case.seed}, {strategy}\n{text or case.program}\n{wrong}\n{data}"
        )


@pytest.mark.parametrize("block", range(8))
def test_results_that_are_only_counted_are_as_many_as_the_oracles(block: int) -> None:
    random = Random(block)
    for seed in range(10 * block, 10 * block + 10):
        case = random_case(seed, kinds=(random.choice(("join", "joins", "subsets")),))
        strategy = random_strategy(random, "flat", "off") if seed % 2 else random_strategy(random)
        program = cqc.compile(case.program)
        executor = executor_of(program, strategy, case.seed)
        executor.engine = cqc.Engine(program, strategy=strategy, collect=False)
        executor.push([(name, row) for name, rows in case.tables.items() for row in rows])
        executor.push(case.arrivals)
        executor.engine.finish()
        found = executor.engine.result_counts()
        for query in program.queries:
            if query.pull is None:
                expected = len(oracle_answer(query, data_of(case)))
                assert found[query.name] == expected, (seed, strategy, case.program)


@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("join", JOINS)
def test_a_sample_of_the_switches_gives_the_oracles_answers(join: str, feedback: str) -> None:
    random = Random(f"{join} {feedback}")
    for seed in random.sample(range(10_000), 4):
        kind = random.choice(("join", "joins"))
        case = random_case(seed, kinds=(kind,))
        check_case(case, random_strategy(random, join, feedback))


@pytest.mark.parametrize("seed", range(8))
def test_hints_never_change_an_answer(seed: int) -> None:
    """Some queries ask for shapes, also of the same question as others, or of several nodes of any width."""
    random = Random(seed)
    case = random_case(1000 * seed + 7, kinds=("join", "joins"))
    text = case.program
    for query in sorted(cqc.compile(text).queries, key=lambda each: -each.span.start):
        if len(query.items) > 1 and random.random() < 0.7:
            names = random.sample([each.alias for each in query.items], len(query.items))
            hint = random.choice((_nested(random, names), "bushy", "left-deep", "flat"))
            at = query.span.start + len("SELECT")
            text = f"{text[:at]} /*+ JOIN({hint}) */ {text[at:]}"
    assert "/*+" in text or seed
    feedback = random.choice(FEEDBACKS)
    check_case(case, Strategy(feedback=feedback, sharing=seed % 4 > 0), text)


def _nested(random: Random, names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    cut = random.randint(1, len(names) - 1)
    parts = [names[:cut], names[cut:]] if random.random() < 0.7 else [[name] for name in names]
    return " ".join(f"({_nested(random, part)})" for part in parts)


@pytest.mark.parametrize("seed", range(10))
def test_a_join_that_changes_its_shape_loses_and_repeats_nothing(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random, changes = Random(seed), []

    def look(self: ShapeTrials, join: JoinNode) -> bool:
        if random.random() < 0.4 or join.alone is None:
            return False
        items = random.sample(range(len(join.alone.inputs)), len(join.alone.inputs))
        self.arm = random.choice((None, _any_shape(random, items)))
        changes.append(self.arm)
        return True

    monkeypatch.setattr(ShapeTrials, "is_due", lambda self, join: True)
    monkeypatch.setattr(ShapeTrials, "look", look)
    monkeypatch.setattr(
        NodePlanner, "may_change", lambda self, node: not node.past and node.hint is None
    )
    for number in range(3):
        feedback, packet = random.choice(FEEDBACKS), random.choice(PACKETS)
        strategy = Strategy(feedback=feedback, packet=packet, sharing=random.random() < 0.7)
        check_case(random_case(100 * seed + number, kinds=("join", "joins")), strategy)
        case = random_case(100 * seed + number, kinds=("join", "join", "filter"))
        history = History(case, seed)
        history.executor.engine = cqc.Engine(history.executor.program, strategy=strategy)
        history.play()
        history.judge()
    assert changes


def _any_shape(random: Random, items: list[int]) -> Shape:
    if len(items) == 1:
        return items[0]
    cut = random.randint(1, len(items) - 1)
    parts = [items[:cut], items[cut:]] if random.random() < 0.7 else [[item] for item in items]
    return tuple(_any_shape(random, part) for part in parts)


def test_a_table_between_two_streams_that_only_time_connects() -> None:
    check_case(random_case(1500, kinds=("join",)), Strategy(join="flat", feedback="off"))


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("join", JOINS)
def test_every_combination_of_the_switches_gives_the_oracles_answers(
    join: str, feedback: str, order: str
) -> None:
    random = Random(f"{join} {feedback} {order}")
    for routing, packet in product(ROUTINGS, PACKETS):
        case = random_case(random.randrange(10_000), kinds=(random.choice(("join", "joins")),))
        sharing = random.random() < 0.7
        check_case(case, Strategy(join, feedback, routing, order, packet, sharing=sharing))


@pytest.mark.parametrize("feedback", ["off", "exact", "bloom"])
def test_a_tuple_that_is_old_but_not_late_meets_what_is_there_in_a_tree(feedback: str) -> None:
    strategy = Strategy(join="left-deep", feedback=feedback)
    check_case(random_case(3670, kinds=("joins",), size=12), strategy)


@pytest.mark.parametrize("join", JOINS)
def test_queries_that_come_and_go_see_what_arrived_while_they_were_there(join: str) -> None:
    random = Random(join)
    for seed in random.sample(range(10_000), 4):
        case = random_case(seed, kinds=("join", "join", "filter"))
        history = History(case, seed)
        strategy = random_strategy(random, join)
        history.executor.engine = cqc.Engine(history.executor.program, strategy=strategy)
        history.play()
        history.judge()
