"""Results of a body are kept once for all its queries, and forgotten with the last of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cqc

if TYPE_CHECKING:
    from cqc.runtime.pull.kept_bodies import KeptBodies

TEXT = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT);"
LAST = "SELECT x FROM s WHERE k = 1 BEGIN NOW - 5 END NOW"
SUM = "SELECT SUM(x) AS t FROM s WHERE k = 1 BEGIN NOW - 9 END NOW"
PAIRS = "SELECT a.x FROM s a, s b WHERE a.k = b.k BEGIN 0 END NOW MAXWINDOW 60 SEC"


def engine(*queries: str) -> tuple[cqc.Engine, KeptBodies]:
    running = cqc.Engine(cqc.compile(TEXT))
    for number, query in enumerate(queries):
        running.register(query, f"n{number}")
    return running, running._pulls.kept


def rows(*numbers: int) -> list[dict[str, int]]:
    return [{"ts": number, "k": 1, "x": number} for number in numbers]


def test_queries_of_one_body_keep_its_results_together() -> None:
    running, kept = engine(LAST, SUM, LAST.replace("- 5", "- 2"))
    (body,) = kept.bodies.values()
    assert body.users == 2  # clauses: the windows of one clause may differ
    running.push("s", rows(1, 2, 3))
    assert running.invoke("n0").num_rows == 3
    assert running.invoke("n1").to_pylist() == [{"t": 6}]
    (measured,) = kept.measure()
    assert (measured.name, measured.tuples_in) == ("history(s)", 3)


def test_the_last_query_takes_what_is_kept_with_it() -> None:
    running, kept = engine(LAST, SUM)
    running.unregister("n0")
    assert len(kept.bodies) == 1
    running.unregister("n1")
    assert not kept.bodies
    running.push("s", rows(1))
    assert kept.measure() == []


def test_a_body_that_comes_later_begins_with_the_retained_past() -> None:
    running, _kept = engine()
    running.push("s", rows(1, 2))
    running.register(LAST, "late")
    running.push("s", rows(3))
    assert running.invoke("late")["x"].to_pylist() == [1, 2, 3]


def test_only_joins_can_be_crowded() -> None:
    running, kept = engine(LAST, PAIRS)
    running.push("s", rows(1, 2, 3))
    running.invoke("n1")
    assert [body.body.host is not None for body in kept.crowded(5)] == [True]
    assert kept.crowded(9) == []
    assert running.crowded(5) == ["n1"]
