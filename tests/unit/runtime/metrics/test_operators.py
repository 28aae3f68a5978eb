"""The form of `--stats` for each kind of operator: names that users know, none of them twice."""

from __future__ import annotations

from cqc.runtime.metrics.operators import (
    FilterMetrics,
    HistoryMetrics,
    JoinMetrics,
    RowsJoinMetrics,
    ShuffleMetrics,
    TreeMetrics,
)
from cqc.runtime.metrics.parts import (
    EdgeMetrics,
    JoinInputMetrics,
    PhaseMetrics,
    ProbeMetrics,
    QueueMetrics,
    StepOrderMetrics,
    TreeWork,
    VisitMetrics,
)

COMMON = {"name": "op", "in": 10, "out": 3, "seconds": 0.5, "bytes": 64}


def test_what_every_operator_counts_comes_first() -> None:
    shuffle = ShuffleMetrics(name="op", tuples_in=10, tuples_out=3, seconds=0.5, bytes=64)
    assert shuffle.to_json() == COMMON


def test_a_filter_tells_its_visits_and_tickets_where_it_has_any() -> None:
    visits = (VisitMetrics("x", 10, 1, 2, 7), VisitMetrics("y", 4, 0, 1))
    found = FilterMetrics(name="f", tuples_in=1, tuples_out=1, slots=2, visits=visits).detail
    assert found == {
        "slots": 2,
        "x visits": 10, "x skipped": 1, "x place": 2, "x tickets": 7,
        "y visits": 4, "y skipped": 0, "y place": 1,
    }  # fmt: skip


def join(**more: object) -> JoinMetrics:
    return JoinMetrics(
        name="join0+1", tuples_in=1, tuples_out=1, slots=2, checked=5, hosts={"join0": 1},
        inputs=(JoinInputMetrics(0, "A", 1, 2, 3, 4),), queues=(QueueMetrics(("A",), "B", 1, 2, 3, 4),),
        phases=(PhaseMetrics("J", 9, 3),), orders=(StepOrderMetrics("AJW", "fused", 6),), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_join_tells_inputs_queues_phases_and_orders() -> None:
    assert join().detail == {
        "slots": 2, "checked": 5, "join0 results": 1,
        "0:A probes": 1, "0:A candidates": 2, "0:A found": 3, "0:A bytes": 4,
        "queue A -> B trains": 1, "queue A -> B rows": 2, "queue A -> B waited": 3, "queue A -> B threshold": 4,
        "phase J compared": 9, "phase J kept": 3, "order AJW fused steps": 6,
    }  # fmt: skip


def test_a_join_tells_what_only_some_joins_have() -> None:
    found = join(
        split="from join0+1: why", probes=(ProbeMetrics(0, 1, 0, 8),), partial_results=0, not_made=4
    ).detail
    rest = {name: number for name, number in found.items() if name not in join().detail}
    assert rest == {
        "split from join0+1: why": 1,
        "from 0 to 1 place": 0,
        "from 0 to 1 tickets": 8,
        "partial results": 0,
        "partial results not made": 4,
    }


def test_a_tree_tells_edges_one_by_one_and_in_all() -> None:
    edges = (
        EdgeMetrics("a for c", 5, 2, 3),
        EdgeMetrics("b for c", 1, 1, 0),
        EdgeMetrics("pairs", 4, 1),
    )
    tree = TreeMetrics(
        name="join0", tuples_in=1, tuples_out=1, slots=1, checked=0, shape="((a b) c)", is_chosen=True,
        work=TreeWork(7, 8, edges), peak_rows=9,
    )  # fmt: skip
    found = tree.detail
    assert found["suspended"] == 6
    assert (found["resumed"], found["blacklisted"]) == (3, 3)
    assert (found["pairs held"], found["pairs resumed"]) == (4, 1)
    assert found["a for c blacklisted"] == 3
    assert "pairs blacklisted" not in found
    assert found["shape ((a b) c) chosen"] == 1


def test_rows_joins_and_kept_results_have_few_counters() -> None:
    rows = RowsJoinMetrics(name="r", tuples_in=0, tuples_out=0, candidates=3)
    assert rows.detail == {"candidates": 3}
    kept = HistoryMetrics(
        name="h", tuples_in=0, tuples_out=0, bodies=2, eager=1, lazy=1, changes=3, rows=4, trees=5
    )
    assert list(kept.detail.values()) == [2, 1, 1, 3, 4, 5]
