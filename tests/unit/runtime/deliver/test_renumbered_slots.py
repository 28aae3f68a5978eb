"""When the slots of a join are numbered anew, what was known of them by number is found out anew too."""

from __future__ import annotations

import cqc
from cqc.compiler.physical.strategy import Strategy

DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, k BIGINT, y BIGINT);"
TEXT = "SELECT a.x AS x, b.y AS y FROM s a, r b WHERE a.k = b.k AND a.x = {n} MAXWINDOW 40 SEC"
QUERIES = 600


def test_results_go_to_the_queries_that_asked_after_most_have_left() -> None:
    """All have had results before, so that for each slot a query is known: with old numbers, another one's."""
    engine = cqc.Engine(cqc.compile(DECLARED), strategy=Strategy(feedback="off"))
    for n in range(QUERIES):
        engine.register(TEXT.format(n=n), f"q{n}")
    rows = [{"ts": 1, "k": 1, "x": n} for n in range(QUERIES)]
    engine.push_batch({"r": [{"ts": 1, "k": 1, "y": 1}], "s": rows})
    assert len(list(engine.drain())) == QUERIES
    staying = set(range(5, 25))  # their new numbers are old numbers of one another
    for n in range(QUERIES):
        if n not in staying:
            engine.unregister(f"q{n}")
    join = engine._circuit.join("q5")
    assert join is not None
    assert join.members.table.size < QUERIES // 4  # numbered anew
    engine.push("r", [{"ts": 2, "k": 1, "y": 2}])
    found = {result.query: result.row["x"] for result in engine.drain()}
    assert found == {f"q{n}": n for n in staying}
