"""Rows of an operator that sit at seats of members become pairs of member and row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np

from cqc.runtime.lineage.matches import Matches
from cqc.runtime.windows.members import SeatedMembers


class Found:
    """Seat 3 has the rows 0 and 4, seat 7 has row 2, seat 9 none."""

    def matches(self, keys: Any) -> Matches:
        rows = {3: [0, 4], 7: [2], 9: []}
        own = [key for key in keys.tolist() if rows[key]]
        counts = [len(rows[key]) for key in own]
        found = [row for key in own for row in rows[key]]
        return Matches(np.array(own), np.array(counts), np.array(found, np.int64))


def seated(*keys: int) -> SeatedMembers:
    members = {at: SimpleNamespace(seat=SimpleNamespace(key=key)) for at, key in enumerate(keys)}
    return SeatedMembers(cast("Any", members))


def pairs(*keys: int) -> list[tuple[int, int]]:
    members, rows = seated(*keys).pairs(cast("Any", Found()))
    return list(zip(members.tolist(), rows.tolist(), strict=True))


def test_each_member_has_the_rows_of_its_seat() -> None:
    assert pairs(7, 9, 3) == [(2, 0), (2, 4), (0, 2)]


def test_members_of_one_seat_have_its_rows_each() -> None:
    assert pairs(3, 7, 3) == [(0, 0), (0, 4), (2, 0), (2, 4), (1, 2)]


def test_a_seat_without_rows_gives_none() -> None:
    assert pairs(9) == []
