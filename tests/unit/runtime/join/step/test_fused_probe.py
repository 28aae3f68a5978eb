"""Small packets by few calls (`fused_insert`, `fused_probe`) beside the longer way, which the oracle judges elsewhere."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.join.execute import fused_insert
from cqc.runtime.join.execute.demand_join import DemandSteps
from cqc.runtime.join.execute.route_steps import PlainSteps
from cqc.runtime.join.step import fused_probe

DECLARATIONS = """
CREATE STREAM R (ts BIGINT, id BIGINT, a BIGINT, d DOUBLE);
CREATE STREAM S (ts BIGINT, id BIGINT, a BIGINT, b BIGINT, d DOUBLE);
CREATE STREAM T (ts BIGINT, id BIGINT, a BIGINT, b BIGINT, d DOUBLE);
"""
CHAIN = "FROM R, S, T WHERE R.a = S.a AND S.b = T.b AND R.d >= {low} AND S.id % 7 <> {rest} AND T.d < {high}"
DOUBLES = [float("nan"), -0.0, 0.0, float("inf"), 1.5, 2.0, -3.0]

Batch = dict[str, list[dict[str, Any]]]


def batches(random: Random, keys: int, most: int, nulls: float = 0.0) -> list[Batch]:
    """Micro-batches with tuples that come late, ties in time and, if wanted, NULLs."""
    found: list[Batch] = []
    number = 0
    for at in range(60):
        batch: Batch = {}
        for name in "RST":
            rows = []
            for _ in range(random.randint(0, most)):
                number += 1
                row = {"ts": max(0, at - random.choice((0, 0, 1))), "id": number}
                row |= {key: random.randrange(keys) for key in "ab" if key != "b" or name != "R"}
                row["d"] = random.choice(DOUBLES)
                if random.random() < nulls:
                    row[random.choice([key for key in row if key not in ("ts", "id")])] = None
                rows.append(row)
            batch[name] = rows
        found.append(batch)
    return found


def program(random: Random, queries: int, window: int, where: str = CHAIN) -> str:
    """Queries with constants and windows of their own."""
    text = DECLARATIONS.replace("d DOUBLE)", "d DOUBLE, WATERMARK FOR ts AS ts - 1)")
    for _ in range(queries):
        limits = {"low": random.choice((-5, 0.0, 1.5)), "high": random.choice((0.0, 2.0, 1e9))}
        own = where.format(**limits, rest=random.randrange(7))
        span = random.randint(1, window)
        text += f"SELECT R.id AS r, S.id AS s, T.id AS t {own} MAXWINDOW {span} SEC;"
    return text


def answers(
    text: str, given: list[Batch], strategy: Strategy | None = None
) -> Counter[tuple[Any, ...]]:
    """All results, as often as they come."""
    found: Counter[tuple[Any, ...]] = Counter()
    with cqc.Engine(cqc.compile(text), strategy=strategy, keep_past=False) as engine:
        for batch in given:
            engine.push_batch(batch)
            found.update((r.query, r.ts, *r.row.values()) for r in engine.drain())
    return found


class Calls:
    """How often a kernel was called."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts: Counter[str] = Counter()
        for module, name in ((fused_insert, "arrive"), (fused_probe, "extend_through")):
            monkeypatch.setattr(module, name, self._counted(name, getattr(module, name)))

    def _counted(self, name: str, kernel: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.counts[name] += 1
            return kernel(*arguments)

        return call


@pytest.mark.parametrize(
    ("queries", "keys", "most", "nulls"),
    [(1, 8, 12, 0.0), (5, 4, 20, 0.0), (90, 12, 15, 0.0), (5, 6, 12, 0.05), (3, 3, 16, 0.0)],
    ids=[
        "one query",
        "several",
        "more than a word of queries",
        "NULLs",
        "more than there is room for",
    ],
)
def test_few_calls_find_what_many_find(
    queries: int, keys: int, most: int, nulls: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(queries)
    text, given = program(random, queries, 6), batches(random, keys, most, nulls)
    calls = Calls(monkeypatch)
    quick = answers(text, given)
    assert calls.counts["arrive"] > 20
    assert calls.counts["extend_through"] > 20
    monkeypatch.setattr(PlainSteps, "goes_through", False)
    calls.counts.clear()
    assert quick == answers(text, given)
    assert quick
    assert not calls.counts


def test_what_does_not_fit_is_made_again_with_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(3)
    text, given = program(random, 2, 4), batches(random, 2, 6)
    monkeypatch.setattr("cqc.runtime.join.step.probe_step._ROOM", 4)
    quick = answers(text, given)
    monkeypatch.setattr(PlainSteps, "goes_through", False)
    assert quick == answers(text, given)


def test_pairs_on_demand_go_on_through_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(4)
    clique = "FROM R, S, T WHERE R.a = S.a AND S.b = T.b AND R.a = T.a"
    text, given = program(random, 1, 8, clique), batches(random, 3, 15)
    strategy = Strategy(join="flat", feedback="demand")
    calls = Calls(monkeypatch)
    quick = answers(text, given, strategy)
    assert calls.counts["arrive"] > 20
    monkeypatch.setattr(DemandSteps, "goes_through", False)
    assert quick == answers(text, given, strategy)


def test_tuples_that_hardly_anybody_wants_are_picked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    where = "FROM R, S WHERE R.a = S.a AND R.d > 1.5 AND S.id % 2 = 0"
    text = DECLARATIONS + f"SELECT R.id AS r, S.id AS s {where} MAXWINDOW 5 SEC;"
    given = [
        {name: rows for name, rows in batch.items() if name != "T"}
        for batch in batches(Random(5), 5, 30)
    ]
    for batch in given:
        for at, row in enumerate(batch["R"]):
            row["d"] = 2.0 if at % 5 == 0 else 0.0
    with cqc.Engine(cqc.compile(text), keep_past=False) as engine:
        for batch in given:
            engine.push_batch(batch)
        kept = len(engine.states["r"])
        quick = Counter((r.ts, *r.row.values()) for r in engine.drain())
    assert kept < 40
    monkeypatch.setattr(PlainSteps, "goes_through", False)
    with cqc.Engine(cqc.compile(text), keep_past=False) as engine:
        for batch in given:
            engine.push_batch(batch)
        assert quick == Counter((r.ts, *r.row.values()) for r in engine.drain())


def test_a_past_that_is_too_much_is_noticed_level_by_level() -> None:
    """Rows that pass several levels at once would be too many before anybody has looked."""
    few = "SELECT R.id AS r, T.id AS t FROM R, S, T WHERE R.a = S.a AND S.b = T.b AND R.id < 3 BEGIN 0 END NOW"
    with cqc.Engine(cqc.compile(f"{DECLARATIONS} CREATE QUERY few AS {few};")) as engine:
        engine.bound(found=10**9, past=1_000)
        for at in range(40):
            rows = [{"ts": at, "id": at * 20 + k, "a": 1, "b": 1, "d": 1.0} for k in range(20)]
            engine.push_batch({"R": rows, "S": rows[:2], "T": rows[:2]})
        with pytest.raises(cqc.RunError, match="more than 1,000 combinations"):
            engine.register(few.replace("AND R.id < 3", ""), name="all")
        assert len(engine.invoke("few")) == 3 * 80 * 80
