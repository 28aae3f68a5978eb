"""Constants of QUALIFY are lifted where they are compared with, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc
from cqc.runtime.windows.lifted_constants import constant_columns, lifted

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Decided

STREAM = "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT);\n"


def decided(qualify: str) -> Decided:
    text = f"{STREAM}CREATE QUERY q AS SELECT k, LAG(x) OVER (PARTITION BY k) AS b FROM s QUALIFY {qualify}"
    found = cqc.compile(text).normal("q").decided
    assert found is not None
    return found


def values(qualify: str) -> list[object]:
    return [constant.value for constant in lifted(decided(qualify))[1]]


def test_queries_that_differ_in_constants_are_alike() -> None:
    left, right = (lifted(decided(f"b > {n} AND 2.5 < b + {n}"))[0] for n in (3, 3))
    assert left == right
    one, other = lifted(decided("b > 3")), lifted(decided("b > 9"))
    assert one[0] == other[0] != decided("b > 3")
    assert (one[1][0].value, other[1][0].value) == (3, 9)


def test_what_is_compared_with_is_lifted_inside_of_over_too() -> None:
    assert values("b >= 4 AND LAG(x > 7) OVER (PARTITION BY k) IS NOT TRUE") == [4, 7]


def test_other_constants_stay() -> None:
    assert values("LAG(x, 2) OVER (PARTITION BY k) IS NULL AND k = 'a' AND b IN (1, 2)") == []


def test_constants_by_query() -> None:
    three, nine = lifted(decided("b > 3"))[1], lifted(decided("b > 9"))[1]
    (column,) = constant_columns([three, (), nine])
    assert column.values.tolist() == [3, 0, 9]


def test_queries_with_other_constants_answer_each_its_own() -> None:
    queries = "".join(
        f"CREATE QUERY q{n} AS SELECT k, x FROM s WHERE x < 90 "
        f"QUALIFY SUM(x) OVER (PARTITION BY k ROWS 1 PRECEDING) > {n} AND LAG(x > {n}) OVER (PARTITION BY k) IS NOT TRUE;"
        for n in range(12)
    )
    rows = [{"ts": at, "k": "ab"[at % 3 % 2], "x": at * 7 % 11} for at in range(40)]
    found = {}
    for sharing in (True, False):
        engine = cqc.Engine(cqc.compile(STREAM + queries), sharing=sharing)
        for begin in (0, 13, 26):
            engine.push("s", rows[begin : begin + 13])
            if begin == 13:
                engine.unregister("q5")
                engine.unregister("q0")
        engine.finish()
        results = [(each.query, each.ts, *each.row.values()) for each in engine.drain()]
        found[sharing] = sorted(results)
    assert found[True] == found[False]
    assert len(found[True]) > 30
