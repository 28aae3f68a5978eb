"""Orders of attribute, join and window phases: every one finds the same, and the adaptive one takes the cheap way."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.adapt import settings
from cqc.runtime.adapt.measured_cost import MeasuredCost
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.packet import Packet
from cqc.runtime.join.step import phase_order
from cqc.runtime.join.step.phase_order import (
    ORDERS,
    Access,
    PhaseCount,
    PhaseCounts,
    PhaseOrder,
)
from cqc.runtime.join.step.probe_step import Rows
from cqc.runtime.state.shared_state import SharedState
from cqc.runtime.state.sorted_runs import SortedRuns
from tests.property.test_strategies import check_case
from tests.support.generators import random_case

if TYPE_CHECKING:
    from cqc.runtime.join.step.phase_order import StepParts

STREAMS = "CREATE STREAM b (ts BIGINT, k BIGINT, v DOUBLE); CREATE STREAM h (ts BIGINT, k BIGINT, v DOUBLE);"
FEW_KEYS = f"{STREAMS} SELECT b.v AS x FROM b, h WHERE b.k = h.k AND b.v < 90 MAXWINDOW 1 SEC"
RARELY_LESS = f"{STREAMS} SELECT b.v AS x FROM b, h WHERE b.v > h.v AND b.k >= 0 MAXWINDOW 500 SEC"


def rows(count: int, seed: int, keys: int, lift: float) -> list[dict[str, float]]:
    random = Random(seed)
    return [
        {"ts": at // 4, "k": random.randrange(keys), "v": random.random() * 100 + lift}
        for at in range(count)
    ]


@pytest.fixture(autouse=True)
def _everybody_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tuples without company would be gone before a step has anything to choose."""
    monkeypatch.setattr(settings, "COMPANY_LEAST_ROWS", 1 << 30)


def run(program: str, strategy: Strategy, keys: int, lift: float) -> tuple[int, dict[str, int]]:
    engine = cqc.Engine(cqc.compile(program), strategy=strategy)
    left, right = rows(4000, 1, keys, 0.0), rows(4000, 2, keys, lift)
    for begin in range(0, 4000, 1000):
        engine.push_batch({"b": left[begin : begin + 1000], "h": right[begin : begin + 1000]})
    detail = next(each.detail for each in engine.measure() if each.name.startswith("join"))
    return sum(engine.result_counts().values()), detail


@pytest.mark.parametrize("order", ORDERS)
def test_every_phase_looks_at_what_the_one_before_left(order: str) -> None:
    found, detail = run(FEW_KEYS, Strategy(order=order, join="flat", feedback="off"), 3, 0.0)
    expected, _ = run(FEW_KEYS, Strategy(join="flat", feedback="off"), 3, 0.0)
    assert found == expected > 0
    for one, other in pairwise(order):
        assert detail[f"phase {other} compared"] == detail[f"phase {one} kept"]
    assert detail[f"phase {order[-1]} kept"] == found


def test_the_window_lists_fewer_candidates_than_three_keys() -> None:
    strategy = Strategy(order="WJA", join="flat", feedback="off")
    by_time = run(FEW_KEYS, strategy, 3, 0.0)[1]["phase W compared"]
    strategy = Strategy(order="JWA", join="flat", feedback="off")
    by_key = run(FEW_KEYS, strategy, 3, 0.0)[1]["phase J compared"]
    assert 10 * by_time < by_key


@pytest.mark.parametrize(
    ("program", "keys", "lift", "chosen"),
    [(FEW_KEYS, 3, 0.0, "time"), (RARELY_LESS, 50, 97.0, "value"), (FEW_KEYS, 2000, 0.0, "fused")],
)
def test_the_adaptive_order_takes_the_structure_with_few_candidates(
    program: str, keys: int, lift: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Costs as they are expected, not as a busy machine measures them.
    monkeypatch.setattr(PhaseOrder, "_saw", lambda *_, **__: None)
    _, detail = run(program, Strategy(join="flat", feedback="off"), keys, lift)
    steps: dict[str, int] = {}
    for label, number in detail.items():
        if label.startswith("order "):
            access = label.split()[2]
            steps[access] = steps.get(access, 0) + number
    # Tuples of b meet an h of earlier micro-batches, where nothing is near; tuples of h meet all of b, in four of them.
    assert steps.get(chosen, 0) >= 4, steps
    assert chosen != "fused" or len(steps) == 1, steps


def test_the_fused_kernel_is_measured_before_it_is_left_and_again_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listed = {Access.TIME: 1e6, Access.VALUE: 1e4}
    monkeypatch.setattr(PhaseOrder, "_estimate", lambda _, access, *__: listed[access])
    nothing = Rows(1, 1)
    # The last one is so dear that another look at it would not be paid for by 400 steps.
    for fused_seconds, phased, looks in (
        (1e-4, False, True),
        (1e-3, True, True),
        (1e-1, True, False),
    ):
        order = PhaseOrder(PhaseCounts(), by_key=False, has_thetas=True)
        steps: list[bool] = []
        for _ in range(400):
            steps.append(order.takes(lambda _: None, nothing, 0))  # type: ignore[arg-type, return-value]  # nobody looks
            if steps[-1]:
                order._saw(3.5e-4, 1e4, fused=False)
            elif order.measures:
                order.saw_fused(fused_seconds)
        assert not steps[0]
        assert (sum(steps) > 300) == phased
        again = [at for at, taken in enumerate(steps) if not taken]
        assert (again[-1] > 250) == looks


def test_phases_go_by_what_they_take_away_for_their_cost() -> None:
    own = {
        "A": PhaseCount(share=MeasuredCost(0.9), cost=MeasuredCost(1.0)),
        "J": PhaseCount(share=MeasuredCost(0.1), cost=MeasuredCost(1.0)),
        "W": PhaseCount(share=MeasuredCost(0.5), cost=MeasuredCost(1.0)),
    }
    assert phase_order._by_rank(own, "J") == "JWA"
    assert phase_order._by_rank(own, "W") == "WJA"
    own["A"] = PhaseCount(share=MeasuredCost(0.0), cost=MeasuredCost(0.1))
    assert phase_order._by_rank(own, "J") == "AJW"


@pytest.mark.parametrize("seed", range(8))
def test_orders_that_change_at_every_step_give_the_oracles_answers(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)

    def decide(self: PhaseOrder, parts: StepParts, *_: object) -> None:
        offered = [Access.FUSED, Access.TIME]
        offered += [Access.KEY] if len(parts.forms) else []
        offered += [Access.VALUE] if len(parts.thetas[0]) else []
        self.access, self.order = random.choice(offered), random.choice(ORDERS)

    monkeypatch.setattr(PhaseOrder, "_decide", decide)
    monkeypatch.setattr(PhaseOrder, "_is_due", lambda _, steps: True)
    for case_seed in random.sample(range(10_000), 4):
        case = random_case(case_seed, kinds=(random.choice(("join", "joins")),))
        packet = random.choice((None, 1, 3))
        check_case(case, Strategy(join="flat", feedback="off", packet=packet))


def test_runs_hold_the_tuples_of_a_state_in_order_and_forget_those_it_forgot() -> None:
    relation = cqc.compile(STREAMS).catalog.relations["b"]
    state = SharedState(relation)
    number = state.value_column(2)
    runs = SortedRuns.by_value(state, number)
    random = np.random.default_rng(1)
    for batch in range(12):
        values = random.random(50)
        ts_us = np.arange(50, dtype=np.int64) + 50 * batch
        columns = (
            Column(relation.columns[0].type, ts_us),
            Column(relation.columns[1].type, ts_us),
            Column(relation.columns[2].type, values),
        )
        state.insert(Packet(columns, ts_us, ts_us))
        state.purge(50 * (batch - 3))
        runs.catch_up()
        held = np.concatenate([positions for _, positions in runs.runs])
        live = set(range(state.first, state.head))
        assert live <= set(held.tolist())
        assert len(held) == len(set(held.tolist())) < 400
        for keys, _ in runs.runs:
            assert (np.diff(keys) >= 0).all()
        assert len(runs.runs) < 6
