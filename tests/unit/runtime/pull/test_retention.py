"""How far back pull queries look, and who is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import Instant
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.event_time import NOTHING_SEEN
from cqc.runtime.pull import retention as retentions
from cqc.runtime.pull.pull_query import PullQuery
from cqc.runtime.pull.pull_window import first_edge, last_edge
from cqc.runtime.pull.retention import Retention

if TYPE_CHECKING:
    import pytest

S = 1_000_000


def query(name: str = "q", first: int | None = 0, latest: int | None = 100) -> PullQuery:
    """Asks for the last 90 seconds, over a stream that was seen between two seconds."""
    seen = [None if at is None else at * S for at in (first, latest)]
    line: Any = SimpleNamespace(first_us=seen[0], latest_us=seen[1])  # as far as it is asked
    clause: Any = None  # it is not asked
    begin = first_edge(Instant(from_now=True, offset_us=-90 * S, exclusive=False))
    end = last_edge(Instant(from_now=True, offset_us=0, exclusive=False))
    return PullQuery(name, begin, end, None, clause, {"s": line}, T.BIGINT)


def test_a_window_that_begins_too_early_begins_where_history_does_and_says_so_once() -> None:
    kept, asked = Retention(60 * S), query()
    assert kept.window(asked, 100 * S) == (40 * S, 100 * S)
    assert kept.window(asked, 100 * S) == (40 * S, 100 * S)
    assert kept.take_warnings() == (
        "query q asks from 10, but history is kept from 40 on: it is answered from what is kept",
    )
    assert kept.take_warnings() == ()


def test_nothing_is_cut_where_everything_is_kept_or_nothing_is_gone_yet() -> None:
    assert Retention(None).window(query(), 100 * S) == (10 * S, 100 * S)
    assert Retention(60 * S).window(query(first=50), 100 * S) == (10 * S, 100 * S)
    assert Retention(60 * S).oldest_us(query(first=None, latest=None)) is None


def test_periodic_queries_look_back_from_each_instant() -> None:
    kept, asked = Retention(60 * S), query()
    instants = np.array([70 * S, 100 * S])
    assert kept.begins(asked, instants).tolist() == [10 * S, 40 * S]
    asked.kept_from_us = 30 * S
    assert kept.begins(asked, instants).tolist() == [30 * S, 40 * S]
    assert Retention(None).begins(asked, instants).tolist() == [-20 * S, 10 * S]


def test_what_a_periodic_query_still_has_to_answer_is_kept_for_it() -> None:
    kept = Retention(60 * S)
    assert kept.purge_before("s", 100 * S, None) == 40 * S
    assert kept.purge_before("s", 100 * S, 80 * S) == 20 * S
    assert kept.purge_before("s", 100 * S, NOTHING_SEEN) is None
    assert kept.purge_before("s", None, None) is None
    assert Retention(None).purge_before("s", 100 * S, None) is None
    assert kept.kept_from == {"s": 20 * S}


def test_the_oldest_warnings_are_forgotten_when_there_are_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retentions, "_MOST_WARNINGS", 2)
    kept = Retention(60 * S)
    for name in "abc":
        kept.window(query(name), 100 * S)
    assert [warning.split()[1] for warning in kept.warnings] == ["b", "c"]
