"""Sliding thresholds of one stream are counted together, and answer as each alone."""

from __future__ import annotations

import json

import pytest

import cqc
from cqc.runtime.engine.snapshot import EngineState, Snapshot
from cqc.runtime.windows.thresholds import threshold_of

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT, WATERMARK FOR ts AS ts - 2 SECONDS);\n"
COUNT = "COUNT(*) OVER (PARTITION BY k RANGE 5 SECONDS PRECEDING)"
ROWS = [
    (1, "a", 1),
    (3, "a", 2),
    (2, "a", 3),
    (3, None, 4),
    (7, "a", 5),
    (7, "a", 6),
    (9, "b", 7),
    (20, "a", 8),
]


def node_of(query: str) -> object:
    program = cqc.compile(f"{STREAM}CREATE QUERY q AS {query};")
    return threshold_of(program.graph.queries["q"])


@pytest.mark.parametrize(
    ("qualify", "least"),
    [
        (f"{COUNT} >= 3", 3),
        (f"{COUNT} > 3", 4),
        (f"3 <= {COUNT}", 3),
        (f"{COUNT} = 3", None),
        (f"{COUNT} >= x", None),
    ],
)
def test_which_conditions_are_thresholds(qualify: str, least: int | None) -> None:
    found = node_of(f"SELECT x FROM s QUALIFY {qualify}")
    assert (None if found is None else found.least) == least  # type: ignore[attr-defined]


def run(program: str, *, restart: bool = False) -> list[tuple[str, object, object]]:
    engine = cqc.Engine(cqc.compile(program))
    found = []
    for ts, k, x in ROWS:
        engine.push("s", [{"ts": ts, "k": k, "x": x}])
        found += [(each.query, each.ts, each.row["x"]) for each in engine.drain()]
        if restart:
            snapshot = engine.snapshot()
            state = EngineState.from_json(json.loads(json.dumps(snapshot.state.to_json())))
            engine = cqc.Engine(cqc.compile(program))
            engine.restore(Snapshot(state, snapshot.tuples))
    engine.finish()
    return found + [(each.query, each.ts, each.row["x"]) for each in engine.drain()]


RULES = "".join(
    f"CREATE QUERY r{at} AS SELECT x, {at} AS rule FROM s WHERE x > {at % 3} QUALIFY"
    f" COUNT(*) OVER (PARTITION BY k RANGE {at} SECONDS PRECEDING) >= {1 + at % 4};\n"
    for at in range(8)
)


def test_rules_together_find_what_each_finds_alone() -> None:
    together = run(STREAM + RULES)
    alone = [each for rule in RULES.splitlines() for each in run(STREAM + rule)]
    assert sorted(together) == sorted(alone)
    assert len(together) > 10


def test_rules_go_on_after_a_restart() -> None:
    assert sorted(run(STREAM + RULES, restart=True)) == sorted(run(STREAM + RULES))


def test_a_rule_that_leaves_takes_nothing_from_the_others() -> None:
    engine = cqc.Engine(cqc.compile(STREAM + RULES))
    for at, (ts, k, x) in enumerate(ROWS):
        engine.push("s", [{"ts": ts, "k": k, "x": x}])
        if at == 2:
            engine.unregister("r0")
    engine.finish()
    found = sorted(
        (each.query, each.ts, each.row["x"]) for each in engine.drain() if each.query != "r0"
    )
    assert found == sorted(each for each in run(STREAM + RULES) if each[0] != "r0")


def test_keys_are_given_up_when_their_time_is_over() -> None:
    """Many keys that come once are not kept for ever, although few come after them."""
    engine = cqc.Engine(
        cqc.compile(f"{STREAM}CREATE QUERY q AS SELECT x FROM s QUALIFY {COUNT} >= 2;")
    )
    engine.push("s", [{"ts": 1, "k": str(at), "x": at} for at in range(70_000)])
    engine.push("s", [{"ts": 5, "k": "new", "x": 1}])
    (before,) = engine._decided._families.values()
    many = before.nbytes
    for ts in (20, 40, 60):
        engine.push("s", [{"ts": ts, "k": "new", "x": 1}, {"ts": ts, "k": "new", "x": 2}])
    assert before.nbytes < many / 10
    engine.finish()
    assert sum(1 for _ in engine.drain()) == 6
