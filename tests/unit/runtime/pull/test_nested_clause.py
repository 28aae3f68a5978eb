"""The clause of a query over views is asked like every other clause."""

from __future__ import annotations

import numpy as np

import cqc
from cqc.runtime.pull.nested_clause import NothingKept


def test_nothing_is_kept_beside_what_the_views_keep() -> None:
    kept = NothingKept()
    kept.measure_use(0, 1)
    assert kept.nbytes == 0
    assert kept.row_counts(np.zeros(3, np.int64), np.ones(3, np.int64)).tolist() == [1, 1, 1]


def test_an_invocation_counts_its_rows() -> None:
    engine = cqc.Engine(cqc.compile("CREATE STREAM s (ts BIGINT, k BIGINT)"))
    query = engine.register(
        "SELECT k FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) AS x WHERE n > 1 BEGIN 0 END NOW"
    )
    assert engine.invoke(query).num_rows == 0  # nothing seen yet
    engine.push("s", [{"ts": 1, "k": 1}, {"ts": 2, "k": 1}, {"ts": 3, "k": 2}])
    assert engine.invoke(query).to_pylist() == [{"k": 1}]
    assert engine.ask(query).at_us == 3_000_000
