"""Aggregates of the rows of a group, in the language; the oracle judges the same."""

from __future__ import annotations

from random import Random

import pytest

import cqc
from tests.support.oracle.brute_force import Data
from tests.support.oracle.judge import oracle_answer

STREAM = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT, y DOUBLE, t STRING, WATERMARK FOR ts AS ts - INTERVAL '50' SECOND);"
CALLS = [
    "first(x)",
    "last(t)",
    "first(x) IGNORE NULLS",
    "last(y) IGNORE NULLS",
    "first(x) FILTER (WHERE y > 1)",
    "any_value(t)",
    "max_by(t, x)",
    "min_by(x, y)",
    "max_by(x, t) FILTER (WHERE x > 2)",
    "mode(x)",
    "mode(t)",
    "stddev(y)",
    "var_pop(x)",
    "skewness(x)",
    "kurtosis(x)",
    "stddev(DISTINCT x)",
    "corr(x, y)",
    "covar_samp(x, y)",
    "covar_pop(y, x)",
    "median(x)",
    "median(DISTINCT x)",
    "percentile(y, 0.3)",
    "percentile_cont(0.75) WITHIN GROUP (ORDER BY x DESC)",
    "percentile_disc(0.4) WITHIN GROUP (ORDER BY x)",
    "percentile_disc(0.4) WITHIN GROUP (ORDER BY y DESC)",
    "listagg(t, ',')",
    "string_agg(x, '')",
    "listagg(DISTINCT t, '-')",
    "listagg(t, ',') WITHIN GROUP (ORDER BY x DESC, t)",
    "listagg(t) FILTER (WHERE k = 1)",
    "approx_count_distinct(x)",
    "approx_count_distinct(t)",
    "approx_percentile(x, 0.5)",
    "count_if(x > 2)",
    "bool_and(x > 0)",
    "bool_or(x > 4) FILTER (WHERE k > 0)",
    "SUM(x) FILTER (WHERE y > 1)",
    "COUNT(*) FILTER (WHERE t IS NOT NULL)",
    "COUNT(DISTINCT x) FILTER (WHERE k = 1)",
]


def rows(random: Random, count: int) -> list[tuple[object, ...]]:
    def maybe(value: object) -> object:
        return None if random.random() < 0.2 else value

    return [
        (
            random.randrange(30),
            random.randrange(3),
            maybe(random.randrange(6)),
            maybe(random.choice([0.5, 1.5, -2.0, 1e9])),
            maybe(random.choice(["a", "b", "é", "日本"])),
        )
        for _ in range(count)
    ]


@pytest.mark.parametrize("call", CALLS)
def test_it_is_what_the_oracle_says_in_windows_and_groups(call: str) -> None:
    random = Random(call)
    data = rows(random, 60)
    queries = [
        f"CREATE QUERY q AS SELECT k, {call} AS v FROM s BEGIN 5 END NOW GROUP BY k;",
        f"CREATE QUERY r AS SELECT {call} AS v FROM s BEGIN AFTER NOW - 7 END NOW EVERY 3 SEC;",
        f"CREATE QUERY c AS SELECT k, x, {call} AS v FROM s BEGIN 0 END NOW GROUP BY CUBE(k, x);",
    ]
    program = cqc.compile(STREAM + "".join(queries))
    engine = cqc.Engine(program)
    names = ("ts", "k", "x", "y", "t")
    for start in range(0, 60, 13):
        engine.push("s", [dict(zip(names, row, strict=True)) for row in data[start : start + 13]])
    engine.finish()
    arrivals = Data({"s": [(row, at) for at, row in enumerate(data)]})  # type: ignore[misc, arg-type]  # plain values
    for name in "qc":
        found = [tuple(row.values()) for row in engine.invoke(name).to_pylist()]
        right = [row for _, row in oracle_answer(program.queries[name], arrivals)]
        assert same(found, right), (name, found, right)
    found = [tuple(result.row.values()) for result in engine.drain() if result.query == "r"]
    right = [row for _, row in oracle_answer(program.queries["r"], arrivals)]
    assert same(found, right)


def same(found: list[tuple[object, ...]], right: list[tuple[object, ...]]) -> bool:
    def key(row: tuple[object, ...]) -> str:
        return repr([f"{v:.9g}" if isinstance(v, float) else v for v in row])

    return sorted(map(key, found)) == sorted(map(key, right))
