"""EXISTS over a whole past keeps the first time of each key, and nothing else."""

from __future__ import annotations

import random

import pytest

import cqc

STREAM = "CREATE STREAM l (ts BIGINT, user STRING, host BIGINT, WATERMARK FOR ts AS ts - INTERVAL '5' SECOND);"
FIRST = (
    "CREATE QUERY first AS SELECT n.ts AS at, n.user, n.host FROM l n WHERE NOT EXISTS "
    "(SELECT 1 FROM l o WHERE o.user = n.user AND o.host = n.host WINDOW o.ts < n.ts)"
)


def rows(count: int, seed: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    found = []
    for at in range(count):
        user = rng.choice(["ann", "bob", "cid", None])
        ts = max(at // 3 - rng.randint(0, 4), 0)
        found.append({"ts": ts, "user": user, "host": rng.randint(0, 20)})
    return found


def first_seen(tuples: list[dict[str, object]]) -> list[tuple[object, ...]]:
    best: dict[tuple[object, object], int] = {}
    for each in tuples:
        key, ts = (each["user"], each["host"]), int(str(each["ts"]))
        best[key] = min(best.get(key, ts), ts)
    return sorted(
        (each["ts"], str(each["user"]), each["host"])
        for each in tuples
        if each["user"] is None or best[each["user"], each["host"]] == each["ts"]
    )


def drained(engine: cqc.Engine) -> list[tuple[object, ...]]:
    return [(each.row["at"], str(each.row["user"]), each.row["host"]) for each in engine.drain()]


@pytest.mark.parametrize("seed", range(4))
def test_first_seen_out_of_order_and_across_restarts(seed: int) -> None:
    program = cqc.compile(STREAM + FIRST)
    engine = cqc.Engine(program, keep_past=False)
    tuples = rows(600, seed)
    found = []
    for start in range(0, len(tuples), 37):
        engine.push("l", tuples[start : start + 37])
        found += drained(engine)
        if start % 5 == 0:
            snapshot = engine.snapshot()
            engine = cqc.Engine(program, keep_past=False)
            engine.restore(snapshot)
    engine.finish()
    found += drained(engine)
    assert sorted(found) == first_seen(tuples)


def test_tuples_are_not_kept() -> None:
    engine = cqc.Engine(cqc.compile(STREAM + FIRST), keep_past=False)
    for start in range(0, 60_000, 1_000):
        batch = [
            {"ts": start + at, "user": f"user {(start + at) % 20_000}", "host": 1}
            for at in range(1_000)
        ]
        engine.push("l", batch)
    assert len(list(engine.drain())) == 20_000
    assert len(engine.states["l"]) < 5_000
    (node,) = engine.absent.nodes
    assert node.nbytes < 200 * 20_000


def test_a_number_that_is_used_again_knows_nothing_of_who_left() -> None:
    engine = cqc.Engine(cqc.compile(STREAM + "SELECT user FROM l WHERE host > 99"))
    engine.register(FIRST)
    engine.push("l", [{"ts": 10, "user": "ann", "host": 1}])
    engine.unregister("first")
    engine.register(FIRST)
    engine.push("l", [{"ts": 20, "user": "ann", "host": 1}, {"ts": 21, "user": "ann", "host": 1}])
    engine.finish()
    assert drained(engine)[-1:] == [(20, "ann", 1)]
