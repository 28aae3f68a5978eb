"""Rows wait in chunks that know when the first of them can be decided."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.pending_rows import Chunk, PendingRows, together


def chunk(rules: list[int], lasts: list[int]) -> Chunk:
    count = np.arange(len(rules))
    return Chunk(np.array(rules), [count], count, [count], [np.array(lasts)])


def test_a_chunk_knows_its_soonest_last_instant() -> None:
    assert chunk([0, 0, 1], [30, 10, 20]).soonest == [10]
    assert together([chunk([0], [9]), chunk([1], [3])]).soonest == [3]


def test_small_chunks_are_put_together() -> None:
    pending = PendingRows()
    pending.append(chunk([0, 1], [5, 6]))
    pending.append(chunk([0], [7]))
    assert len(pending.chunks) == 1
    assert len(pending) == 3


def test_the_rows_of_a_rule_leave_with_it() -> None:
    pending = PendingRows()
    pending.append(chunk([0, 1, 0], [5, 6, 7]))
    pending.drop_rule(0)
    assert [each.rules.tolist() for each in pending.chunks] == [[1]]
    pending.drop_rule(1)
    assert pending.chunks == []


def test_entries_that_have_moved_are_followed() -> None:
    pending = PendingRows()
    pending.append(chunk([0, 0], [5, 6]))
    pending.follow(0, np.array([4, 2]).__getitem__)
    assert pending.chunks[0].entries[0].tolist() == [4, 2]
