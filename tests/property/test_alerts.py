"""Random alerts tell what the oracle says, however the input is cut, restarted, and whenever alerts come and go."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from tests.language.executors import plain, shown, time_us
from tests.support.generators.alerts import random_alert_case
from tests.support.oracle.alerts import Told
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import Data, alert_answer, latest_us

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Query

STRATEGIES = [Strategy(), Strategy(sharing=False), Strategy(packet=1)]


class Run:
    """An engine that is cut, saved and started anew at random moments."""

    def __init__(self, text: str, rng: Random) -> None:
        self.text, self.rng = text, rng
        self.strategy = rng.choice(STRATEGIES)
        self.program = cqc.compile(text)
        self.engine = self.new_engine()
        self.found: dict[str, list[Told]] = {}

    def new_engine(self) -> cqc.Engine:
        keep_past = self.rng.random() < 0.5
        return cqc.Engine(cqc.compile(self.text), strategy=self.strategy, keep_past=keep_past)

    def push(self, rows: list[tuple[object, ...]]) -> None:
        columns = self.program.catalog.relations["s"].columns
        named = [
            {
                column.name: shown(value, column.type)  # type: ignore[arg-type]
                for column, value in zip(columns, row, strict=True)
            }
            for row in rows
        ]
        self.engine.push("s", named)
        self.collect()

    def restart(self) -> None:
        snapshot = self.engine.snapshot()
        state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
        self.engine = self.new_engine()
        self.engine.restore(Snapshot(state, snapshot.tuples))

    def collect(self) -> None:
        for result in self.engine.drain():
            alert = result.alert
            assert alert is not None
            self.found.setdefault(result.query, []).append(
                Told(
                    time_us(result.ts),
                    alert["state"],
                    time_us(alert["since"]),
                    alert["count"],
                    tuple(map(plain, alert["key"].values())),
                    tuple(map(plain, result.row.values())),
                )
            )


def flat(told: list[Told]) -> list[tuple[object, ...]]:
    return [
        (each.ts_us, each.state, each.since_us, each.count, *each.key, *each.row) for each in told
    ]


def expected(
    query: Query, rows: list[tuple[object, ...]], first: int, last: int | None
) -> list[Told]:
    """What the oracle says of an alert that came after `first` rows and went after `last`."""
    data = Data({"s": [(row, at) for at, row in enumerate(rows[first:last])]})  # type: ignore[misc]
    dropped_us = None
    if last is not None:
        everything = Data({"s": [(row, at) for at, row in enumerate(rows[:last])]})  # type: ignore[misc]
        latest = latest_us(query, everything)
        if latest is None:
            return []
        dropped_us = latest - base_delay(query)
    return alert_answer(query, data, dropped_us=dropped_us)


def base_delay(query: Query) -> int:
    relation = query.items[0].relation
    while relation.view is not None:
        relation = relation.view.branches[0].items[0].relation
    assert fold(relation.name) == "s"
    return relation.delay_us


def check_alerts(seed: int) -> None:
    case = random_alert_case(seed)
    rng = Random(seed)
    run = Run(case.program, rng)
    queries = {query.name: query for query in run.program.queries}
    text = queries["a0"].span.text.replace("CREATE ALERT a0", "CREATE ALERT late", 1)
    came: dict[str, int] = dict.fromkeys(queries, 0)
    left: dict[str, int] = {}
    at = 0
    while at < len(case.rows):
        if "late" not in came and rng.random() < 0.2:
            run.engine.execute(text)
            queries["late"], came["late"] = run.program.bind_one(text), at
        # Rows of a view of windows that wait when it is dropped are not the oracle's business.
        if "a1" in queries and "a1" not in left and rng.random() < 0.1:
            run.engine.unregister("a1")
            left["a1"] = at
        count = rng.choice([1, 2, 5, 20])
        run.push(case.rows[at : at + count])
        at = min(at + count, len(case.rows))
        if rng.random() < 0.3:
            run.restart()
    run.engine.finish()
    run.collect()
    for name, query in queries.items():
        answer = expected(query, case.rows, came[name], left.get(name))
        wrong = difference(flat(answer), flat(run.found.get(name, [])))
        assert wrong is None, f"seed {seed} {name}\n{case.program}\n{wrong}\n{case.rows}"


@pytest.mark.parametrize("block", range(10))
def test_alerts_tell_what_the_oracle_says(block: int) -> None:
    for seed in range(block * 20, block * 20 + 20):
        check_alerts(seed)
