"""Everything an engine counts at one moment is one object."""

from __future__ import annotations

import cqc
from cqc.runtime.metrics.operators import FilterMetrics, HistoryMetrics, JoinMetrics

PROGRAM = """
CREATE STREAM a (ts BIGINT, k BIGINT, v BIGINT); CREATE STREAM b (ts BIGINT, k BIGINT, v BIGINT);
CREATE STREAM c (ts BIGINT, k BIGINT, v BIGINT);
CREATE QUERY low AS SELECT v FROM a WHERE v < 2;
CREATE QUERY three AS SELECT a.v AS x FROM a, b, c WHERE a.k = b.k AND b.k = c.k MAXWINDOW 10 SEC;
CREATE QUERY asked AS SELECT v FROM b WHERE v < 5 BEGIN(NOW - 1 MIN) END(NOW);
"""


def engine_of() -> cqc.Engine:
    engine = cqc.Engine(cqc.compile(PROGRAM))
    for name in "abc":
        engine.push(name, [{"ts": at, "k": at % 2, "v": at} for at in range(4)])
    return engine


def test_streams_states_packets_and_operators_are_there() -> None:
    engine = engine_of()
    found = engine.metrics()
    assert {name: count.read for name, count in found.streams.items()} == {"a": 4, "b": 4, "c": 4}
    assert [(state.name, state.tuples, state.taken) for state in found.states] == [
        (name, 4, 4) for name in "abc"
    ]
    assert [(each.name, each.packets, each.tuples) for each in found.packets] == [
        (name, 1, 4) for name in "abc"
    ]
    kinds = [type(each) for each in found.operators]
    assert set(kinds) == {FilterMetrics, JoinMetrics, HistoryMetrics}
    assert [each.name for each in found.operators] == [each.name for each in engine.measure()]
    assert found.failed_evaluations == 0


def test_what_was_decided_is_told_in_sentences() -> None:
    sentences = [each.sentence for each in engine_of().metrics().decisions]
    orders = [each for each in sentences if each.startswith("join0 lets new tuples of ")]
    assert len(orders) == 3
    assert all(" meet " in each and ", then " in each for each in orders)


def test_each_query_has_its_results_and_what_is_kept_for_it() -> None:
    engine = engine_of()
    found = engine.query_metrics()
    assert {name: each.results for name, each in found.items()} == {**engine.result_counts()}
    assert {name: each.kept_bytes for name, each in found.items()} == engine.kept_bytes()
    assert all(each.seconds >= 0.0 for each in found.values())


def test_what_is_measured_does_not_change_afterwards() -> None:
    engine = engine_of()
    before = engine.metrics()
    engine.push("a", [{"ts": 5, "k": 1, "v": 1}])
    assert before.streams["a"].read == 4
    assert before.states[0].taken == 4
