"""Windows of a hundred thousand years, at both ends of the range of event times: no sum on the way leaves 64 bits."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy

DAY_US = 86_400_000_000
TIMES = [[4e12, 4.0000001e12, 4.1e12], [-4e12, 0.0, 4e12], [4e12, 4e12 + 5], [-4.1e12, -4e12]]
STRATEGIES = [
    Strategy(),
    Strategy(join="bushy"),
    Strategy(feedback="demand"),
    Strategy(join="left-deep", feedback="exact"),
]


@pytest.mark.parametrize("days", [106_751_990, 60_000_000, 30_000_000])
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("together", [True, False])
def test_pairs_within_a_window_are_found(
    days: int, times: list[float], strategy: Strategy, together: bool
) -> None:
    window = f"{days} DAYS"
    program = cqc.compile(
        "CREATE STREAM f (ts DOUBLE, x BIGINT); CREATE STREAM g (ts DOUBLE, x BIGINT);"
        f"SELECT a.ts AS p, b.ts AS q FROM f a, f b MAXWINDOW {window};"
        f"SELECT a.ts AS p, b.ts AS q FROM f a, g b WHERE a.x = b.x MAXWINDOW {window};"
        f"SELECT a.ts AS p, b.ts AS q FROM f a [RANGE {window}], g b [ROWS 9];"
        f"SELECT a.ts AS p, b.ts AS q FROM f a, g b WINDOW b.ts >= a.ts MAXWINDOW {window};"
    )
    rows = [{"ts": ts, "x": 1} for ts in times]
    with cqc.Engine(program, strategy=strategy) as engine:
        for part in [rows] if together else [[row] for row in rows]:
            engine.push("f", part)
            engine.push("g", part)
        engine.finish()
        found = list(engine.result_counts().values())
    exact = [round(ts * 1_000_000) for ts in times]
    near = sum(abs(a - b) <= days * DAY_US for a in exact for b in exact)
    alive = sum(max(a, b) <= a + days * DAY_US for a in exact for b in exact)
    after = sum(0 <= b - a <= days * DAY_US for a in exact for b in exact)
    assert found == [near, near, alive, after]
