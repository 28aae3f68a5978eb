from __future__ import annotations

import cqc

DECLARED = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);"


def asked(text: str) -> list[dict[str, object]]:
    engine = cqc.Engine(cqc.compile(DECLARED))
    rows = [(1, "a", 3), (2, "b", 1), (3, "a", 2), (4, None, 5)]
    engine.push("s", [{"ts": ts, "k": k, "x": x} for ts, k, x in rows])
    found: list[dict[str, object]] = engine.invoke(engine.register(text)).to_pylist()
    return found


def test_a_query_that_is_asked_has_all_of_sql() -> None:
    found = asked(
        "SELECT x, LEAD(x) OVER (ORDER BY x) AS after, SUM(x) OVER (PARTITION BY k) AS total FROM s BEGIN 0 END NOW ORDER BY x"
    )
    assert [tuple(row.values()) for row in found] == [(1, 2, 1), (2, 3, 5), (3, 5, 5), (5, None, 5)]


def test_over_comes_after_groups_and_qualify_after_over() -> None:
    found = asked(
        "SELECT k, SUM(x) AS total FROM s BEGIN 0 END NOW GROUP BY k HAVING COUNT(*) > 0"
        " QUALIFY RANK() OVER (ORDER BY SUM(x) DESC) = 1 ORDER BY k"
    )
    assert found == [{"k": None, "total": 5}, {"k": "a", "total": 5}]


def test_over_and_every() -> None:
    engine = cqc.Engine(
        cqc.compile(
            f"{DECLARED} SELECT x FROM s BEGIN AFTER NOW - 2 END NOW EVERY 2 SEC"
            " QUALIFY ROW_NUMBER() OVER (ORDER BY x DESC) = 1"
        )
    )
    engine.push("s", [{"ts": ts, "k": "a", "x": ts % 4} for ts in range(1, 7)])
    engine.finish()
    assert [(each.at, each.row["x"]) for each in engine.drain()] == [(2, 2), (4, 3), (6, 2)]
