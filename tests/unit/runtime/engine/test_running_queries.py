"""Queries come and go: what they found is theirs, although they share what finds it."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.errors import RunError

TEXT = "CREATE STREAM s (ts BIGINT, x BIGINT);"
SAME = "SELECT x FROM s WHERE x > 1"
PAIRS = "SELECT a.x FROM s a, s b WHERE a.x = b.x BEGIN NOW - 60 END NOW MAXWINDOW 60 SEC"


def rows(*numbers: int) -> list[dict[str, int]]:
    return [{"ts": number, "x": number} for number in numbers]


def test_a_query_that_comes_later_does_not_count_what_its_twin_had_found() -> None:
    engine = cqc.Engine(cqc.compile(TEXT + f"CREATE QUERY one AS {SAME};"))
    engine.push("s", rows(2, 3))
    engine.register(SAME, "two")
    engine.push("s", rows(4))
    assert engine.result_counts() == {"one": 3, "two": 1}
    engine.unregister("one")
    engine.push("s", rows(5))
    assert engine.result_counts() == {"one": 3, "two": 2}


def test_a_query_for_which_the_past_has_too_much_leaves_nothing_behind() -> None:
    engine = cqc.Engine(cqc.compile(TEXT))
    engine.bound(found=1000, past=10)
    engine.push("s", [{"ts": at, "x": 1} for at in range(10)])
    with pytest.raises(RunError, match="query p would make more than 10 combinations"):
        engine.register(PAIRS, "p")
    assert engine.queries == ()
    assert "p" not in engine.taken_names
    engine.bound(found=1000, past=1000)
    assert engine.invoke(engine.register(PAIRS, "p")).num_rows == 100


def test_results_are_counted_on_after_a_restart_for_push_and_pull_queries() -> None:
    text = TEXT + f"CREATE QUERY q AS {SAME}; CREATE QUERY p AS {SAME} BEGIN 0 END NOW;"
    one, other = (cqc.Engine(cqc.compile(text)) for _ in range(2))
    one.push("s", rows(1, 2, 3))
    one.invoke("p")
    other.restore(one.snapshot())
    other.push("s", rows(4))
    other.invoke("p")
    assert other.result_counts() == {"q": 3, "p": 5}
