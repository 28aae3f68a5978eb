from __future__ import annotations

from cqc.runtime.metrics.parts import EdgeMetrics, QueueMetrics, TreeWork


def test_a_history_is_called_by_what_it_has_met_and_what_comes_next() -> None:
    assert QueueMetrics(("H", "T"), "B", 1, 2, 0, 512).name == "H T -> B"


def test_work_of_trees_that_are_no_more_counts_on_and_nothing_of_theirs_waits() -> None:
    gone = TreeWork(10, 20, (EdgeMetrics("a for c", 5, 2, 3), EdgeMetrics("pairs", 4, 1))).gone()
    now = TreeWork(1, 2, (EdgeMetrics("a for c", 1, 0, 1), EdgeMetrics("b for c", 7, 0, 7)))
    both = now.plus(gone)
    assert (both.partial_results, both.candidates) == (11, 22)
    assert both.edges == (
        EdgeMetrics("a for c", 6, 2, 1),
        EdgeMetrics("b for c", 7, 0, 7),
        EdgeMetrics("pairs", 4, 1),
    )


def test_edges_of_one_name_are_counted_together() -> None:
    edge = EdgeMetrics("a for a", 1, 1, 0)
    assert TreeWork(0, 0, (edge, edge)).plus(TreeWork(0, 0, ())).edges == (
        EdgeMetrics("a for a", 2, 2, 0),
    )


def test_a_tree_without_feedback_has_no_edges() -> None:
    assert TreeWork(1, 1).plus(TreeWork(1, 1)).edges is None
