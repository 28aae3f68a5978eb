"""What is kept for one body: eager or lazy, the rows of a window are the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.compiler.physical.strategy import Strategy
from cqc.runtime.adapt import settings

if TYPE_CHECKING:
    from cqc.runtime.pull.body_results import BodyResults

TEXT = "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE QUERY q AS SELECT ts FROM s WHERE k = 1"
LAST = " BEGIN NOW - 100 END NOW;"
S = 1_000_000


def body(maintenance: str = "auto", rest: str = LAST) -> tuple[cqc.Engine, BodyResults]:
    engine = cqc.Engine(cqc.compile(TEXT + rest), strategy=Strategy(maintenance=maintenance))
    return engine, engine._pulls.query("q").clause.kept


def push(engine: cqc.Engine, *seconds: int) -> None:
    engine.push("s", [{"ts": at, "k": at % 2} for at in seconds])


@pytest.mark.parametrize("maintenance", ["eager", "lazy"])
def test_the_rows_of_a_window_do_not_depend_on_when_they_are_found(maintenance: str) -> None:
    engine, kept = body(maintenance)
    push(engine, *range(10))
    kept.settle()
    assert kept.rows(2 * S, 7 * S)[0].tolist() == [3, 5, 7]
    assert (kept.history is None) == (maintenance == "lazy")
    assert kept.oldest_times(kept.rows(2 * S, 7 * S)).tolist() == [3 * S, 5 * S, 7 * S]


def test_a_body_that_is_not_asked_turns_lazy_and_back_when_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule = replace(settings.MAINTENANCE, enough=5)
    monkeypatch.setattr(settings, "MAINTENANCE", rule)
    engine, kept = body(rest=LAST + "SET RETENTION = 10 SECONDS;")
    push(engine, *range(4))
    kept.turn_lazy_if_unused()
    assert kept.history is not None
    push(engine, *range(4, 24))
    kept.measure_use(0, 0)  # somebody asks: the count begins anew
    kept.turn_lazy_if_unused()
    assert kept.history is not None
    push(engine, *range(24, 80))
    kept.turn_lazy_if_unused()
    assert (kept.history, kept.changes) == (None, 1)
    kept.measure_use(0, 79 * S)
    kept.measure_use(0, 79 * S)
    assert kept.history is not None
    assert kept.rows(0, 79 * S)[0].tolist() == [69, 71, 73, 75, 77, 79]


def test_rows_windows_count_tuples_of_the_stream_inside_the_end() -> None:
    text = TEXT.replace("FROM s", "FROM s [ROWS 3]")
    engine = cqc.Engine(cqc.compile(text + LAST))
    push(engine, *range(10))
    kept = engine._pulls.query("q").clause.kept
    kept.settle()
    assert kept.rows(0, 8 * S)[0].tolist() == [7]
    assert not kept.has_trees


def test_a_tree_is_shared_by_its_users_and_goes_with_the_last() -> None:
    engine, kept = body()
    push(engine, 1, 3)
    first, second = kept.use_tree((0,), ()), kept.use_tree((0,), ())
    assert first is second
    kept.release_tree(first)
    assert (kept.tree_count, kept.is_current(second)) == (1, True)
    kept.release_tree(second)
    assert kept.tree_count == 0
    kept.settle()
    assert kept.row_counts(np.array([0]), np.array([2 * S])).tolist() == [1]
