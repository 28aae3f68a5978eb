"""Outer joins and EXISTS over views, and views with outer joins and EXISTS inside, judged by the oracle."""

from __future__ import annotations

from random import Random

import pytest

import cqc
from tests.support.oracle.answers import difference
from tests.support.oracle.brute_force import push_answer

DECLARATIONS = """
CREATE STREAM a (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM b (ts BIGINT, k BIGINT, x BIGINT);
CREATE STREAM c (ts BIGINT, k BIGINT, x BIGINT);
CREATE VIEW positive AS SELECT ts, k, x FROM a WHERE x > 0;
CREATE VIEW pairs AS SELECT a.k AS k, b.x AS y FROM a, b WHERE a.k = b.k MAXWINDOW 2 SEC;
CREATE VIEW outer_pairs AS SELECT a.k AS k, b.x AS y FROM a LEFT JOIN b ON a.k = b.k MAXWINDOW 2 SEC;
CREATE VIEW first_seen AS SELECT ts, k FROM a WHERE NOT EXISTS
  (SELECT 1 FROM b WHERE b.k = a.k WINDOW b.ts < a.ts AND b.ts > a.ts - 3);
"""
QUERIES = (
    "SELECT p.ts, p.k, b.x FROM positive p LEFT JOIN b ON p.k = b.k MAXWINDOW 2 SEC",
    "SELECT b.ts, p.y FROM b LEFT JOIN pairs p ON p.k = b.k WINDOW p.ts BETWEEN b.ts AND b.ts + 2",
    "SELECT c.ts FROM c WHERE NOT EXISTS (SELECT 1 FROM pairs p WHERE p.k = c.k WINDOW p.ts BETWEEN c.ts - 1 AND c.ts + 2)",
    "SELECT k, y FROM outer_pairs",
    "SELECT o.ts, o.k, c.x FROM outer_pairs o, c WHERE o.k = c.k MAXWINDOW 2 SEC",
    "SELECT o.ts, o.k, c.x FROM outer_pairs o LEFT JOIN c ON o.k = c.k MAXWINDOW 2 SEC",
    "SELECT ts, k FROM first_seen",
    "SELECT c.ts FROM c WHERE EXISTS (SELECT 1 FROM first_seen f WHERE f.k = c.k WINDOW f.ts BETWEEN c.ts AND c.ts + 4)",
    "SELECT k FROM outer_pairs UNION ALL SELECT k FROM c",
    "SELECT a.ts FROM a WHERE EXISTS (SELECT 1 FROM (SELECT ts, k FROM b WHERE x > 0) AS w WHERE w.k = a.k MAXWINDOW 3 SEC)",
)


@pytest.mark.parametrize("query", QUERIES)
def test_absence_and_views_go_together(query: str) -> None:
    program = cqc.compile(DECLARATIONS + query)
    for seed in range(8):
        random = Random(seed)
        engine = cqc.Engine(program)
        data: dict[str, list[tuple[tuple[int | None, ...], int]]] = {"a": [], "b": [], "c": []}
        found: list[tuple[object, ...]] = []
        now = 0
        for _ in range(random.randint(1, 8)):
            batch: dict[str, list[dict[str, int | None]]] = {}
            for _ in range(random.randint(1, 5)):
                now += random.choice((0, 0, 1, 2))
                stream = random.choice("abc")
                row = (now, random.choice((None, 1, 2, 2)), random.choice((None, 0, 1, 2)))
                data[stream].append((row, len(data[stream])))
                batch.setdefault(stream, []).append(dict(zip(("ts", "k", "x"), row, strict=True)))
            engine.push_batch(batch)
            found += [(each.ts, *each.row.values()) for each in engine.drain()]
            if random.random() < 0.4:
                snapshot = engine.snapshot()
                engine = cqc.Engine(program)
                engine.restore(snapshot)
        engine.finish()
        found += [(each.ts, *each.row.values()) for each in engine.drain()]
        answer = push_answer(program.queries["q1"], data, {})
        expected = [(ts // 1_000_000, *row) for ts, row in answer]
        wrong = difference(expected, found)
        assert wrong is None, f"seed {seed}\n{query}\n{wrong}\n{data}"
