"""A slot that finds too much is silenced, and all others find what they would have found without it."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy

DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);"
GOOD = {
    "pairs": "SELECT a.x AS a, b.x AS b FROM s a, s b WHERE a.k = b.k AND a.x < b.x MAXWINDOW 2 SEC",
    "narrow": "SELECT a.x AS a, b.x AS b FROM s a, s b WHERE a.k = b.k AND a.x < 0.5 * b.x MAXWINDOW 2 SEC",
    "narrower": "SELECT a.x AS a, b.x AS b FROM s a, s b WHERE a.k = b.k AND a.x < 0.4 * b.x MAXWINDOW 2 SEC",
    "kept": "SELECT COUNT(*) AS n FROM s a, s b WHERE a.x = b.x + 1 BEGIN NOW - 9 END NOW EVERY 3 SEC",
}
FLOODS = {
    "pushed": "SELECT a.x AS a FROM s a, s b, s c MAXWINDOW 1 HOUR",
    "asked": "SELECT COUNT(*) AS n FROM s a, s b, s c BEGIN NOW - 1 HOUR END NOW",
}
ROWS = [{"ts": at // 4, "k": at % 7, "x": at} for at in range(60)]


def answers(queries: dict[str, str], most: int | None, strategy: Strategy) -> tuple[object, ...]:
    engine = cqc.Engine(cqc.compile(DECLARED), strategy=strategy)
    for name, text in queries.items():
        engine.register(text, name)
    if most is not None:
        engine.bound(found=most, past=10**9)
    found, silenced = [], []
    for begin in range(0, len(ROWS), 20):
        engine.push("s", ROWS[begin : begin + 20])
        for name in engine.take_silenced():
            engine.unregister(name)
            silenced.append(name)
        found += [
            (each.query, each.ts, each.at, tuple(each.row.values()))
            for each in engine.drain()
            if each.query in GOOD
        ]
    counts = engine.result_counts()
    return sorted(map(str, found)), {name: counts[name] for name in GOOD}, sorted(silenced)


@pytest.mark.parametrize(
    "strategy",
    [
        Strategy(),
        Strategy(sharing=False),
        Strategy(packet=7),
        Strategy(routing="lottery"),
        Strategy(join="flat", feedback="demand"),
    ],
    ids=["default", "apart", "packets", "lottery", "demand"],
)
def test_others_find_what_they_would_have_found(strategy: Strategy) -> None:
    rows, counts, _ = answers(GOOD, None, strategy)
    assert rows
    assert answers({**FLOODS, **GOOD}, 300, strategy) == (rows, counts, ["asked", "pushed"])


def test_within_the_bound_nothing_changes() -> None:
    rows, counts, _ = answers(GOOD, None, Strategy())
    assert answers(GOOD, 100_000, Strategy()) == (rows, counts, [])


def test_a_family_is_left_alone() -> None:
    queries = {
        str(at): f"SELECT a.x AS a FROM s a, s b WHERE a.x < {at / 1000} * b.x MAXWINDOW 1 HOUR"
        for at in (*range(1, 50), 100_000)
    }
    rows, counts, _ = answers(GOOD, None, Strategy())
    assert answers({**queries, **GOOD}, 300, Strategy()) == (rows, counts, [])
