"""Queries that are one interval are answered from sorted tuples, as the sweep over bit rows would."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import cqc
from cqc.runtime.filter.bits.bit_sweep import Outcome
from cqc.runtime.filter.bits.interval_sweep import SortedTuples

NOTHING = np.empty(0, np.int64)


@pytest.mark.parametrize("seed", range(20))
def test_intervals_hold_the_tuples_between_two_cuts(seed: int) -> None:
    rng = Random(seed)
    cuts = rng.randint(1, 6)
    buckets = [rng.randint(0, cuts) for _ in range(rng.randint(0, 100))]  # `cuts` is that of NULL
    places = [[rng.randint(-1, cuts - 1), rng.randint(-1, cuts - 1)] for _ in range(5)]
    wanted = [
        [at for at, b in enumerate(buckets) if (b <= one) != (b <= other)] for one, other in places
    ]
    tuples = SortedTuples(np.array(buckets, np.int32), cuts)
    slots = np.arange(5, dtype=np.int32)
    counts, union = np.zeros(5, np.int64), np.zeros(2, np.uint64)
    rows = np.empty((0, 0), np.uint64)
    found = np.array(places, np.int32)
    tuples.answer(found, slots, Outcome(counts, union, rows, NOTHING, NOTHING))
    assert counts.tolist() == list(map(len, wanted))
    bits = np.unpackbits(union.view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == sorted({at for each in wanted for at in each})
    cursors = np.cumsum(counts) - counts
    cursors[2] = -1  # not asked for
    positions = np.full(int(counts.sum()), -1, np.int64)
    begins = np.cumsum(counts) - counts
    tuples.answer(found, slots, Outcome(NOTHING, NOTHING.view(np.uint64), rows, cursors, positions))
    for slot, each in enumerate(wanted):
        own = positions[begins[slot] : begins[slot] + len(each)].tolist()
        assert own == ([-1] * len(each) if slot == 2 else each)


def test_many_queries_that_are_intervals_answer_as_few_do() -> None:
    """With NULL, open ends and other conditions among them; queries come and go."""
    stream = "CREATE STREAM s (ts BIGINT, x DOUBLE, y BIGINT);\n"
    rng = Random(1)
    conditions = []
    for at in range(7_000):
        low = round(rng.random(), 4)
        conditions.append(
            rng.choice(
                [f"x >= {low} AND x < {low + 0.01}", f"x > {low}", f"x < {low / 9}", f"x = {low}"]
                if at % 50
                else ["x IS NULL", "x >= 0.5 AND y > 3", "x <> 0.25", "x < 0.1 OR x > 0.9"]
            )
        )
    queries = "".join(
        f"CREATE QUERY q{at} AS SELECT y FROM s WHERE {each};\n"
        for at, each in enumerate(conditions)
    )
    rows = [
        {"ts": at, "x": None if at % 10 == 0 else round(rng.random(), 4), "y": at % 7}
        for at in range(600)
    ]
    engine = cqc.Engine(cqc.compile(stream + queries))
    for gone in range(0, 7_000, 3):
        engine.unregister(f"q{gone}")
    engine.push("s", rows)
    found: dict[str, list[object]] = {}
    for result in engine.drain():
        found.setdefault(result.query, []).append(result.ts)
    for at in [*range(1, 7_000, 100), *range(50, 7_000, 50)]:
        if at % 3 == 0:
            assert f"q{at}" not in found
            continue
        alone = cqc.Engine(
            cqc.compile(f"{stream}CREATE QUERY q AS SELECT y FROM s WHERE {conditions[at]};")
        )
        alone.push("s", rows)
        assert found.get(f"q{at}", []) == [each.ts for each in alone.drain()], conditions[at]
