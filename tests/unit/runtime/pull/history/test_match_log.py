"""What is noted for many bodies at once is taken by each of them as if it had been handed over one by one."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc
from cqc.runtime.filter.selections import SelectionSeat
from cqc.runtime.lineage.matches import Matches
from cqc.runtime.pull.history.match_log import MatchLog

if TYPE_CHECKING:
    from cqc.runtime.pull.history.result_history import Positions


def matches(rows_of: dict[int, list[int]]) -> Matches:
    keys = sorted(key for key, rows in rows_of.items() if rows)
    counts = [len(rows_of[key]) for key in keys]
    rows = [row for key in keys for row in rows_of[key]]
    return Matches(*(np.array(each, np.int64) for each in (keys, counts, rows)))


class Taking:
    def __init__(self, log_head: int) -> None:
        self.log_head = log_head
        self.rows: list[tuple[int, ...]] = []

    def note(self, rows: Positions) -> None:
        self.rows += zip(*(each.tolist() for each in rows), strict=True)


@pytest.mark.parametrize("seed", range(6))
def test_a_body_takes_what_came_since_it_last_did(seed: int) -> None:
    rng = Random(seed)
    log, bodies = MatchLog(), range(0, 60, 7)
    due: dict[int, list[tuple[int, int]]] = {key: [] for key in bodies}
    since = dict.fromkeys(bodies, 0)
    for packet in range(80):
        positions = [np.arange(10) + 100 * packet, np.arange(10) - 1000 * packet]
        rows_of = {
            key: sorted(rng.sample(range(10), rng.randint(0, 3)))
            for key in bodies
            if rng.random() < 0.3
        }
        log.add(matches(rows_of), positions)
        for key, rows in rows_of.items():
            due[key] += [(int(positions[0][row]), int(positions[1][row])) for row in rows]
        for key in bodies:
            if rng.random() < 0.1:
                taken = log.take(key, since[key])
                since[key] = log.head
                assert [
                    pair
                    for part in taken
                    for pair in zip(*(each.tolist() for each in part), strict=True)
                ] == due[key]
                due[key] = []
        if rng.random() < 0.03:
            takers = {key: [Taking(since[key])] for key in bodies}
            log.hand_over(takers)
            assert {key: takers[key][0].rows for key in bodies} == due
            due = {key: [] for key in bodies}


DECLARED = """CREATE STREAM r (ts BIGINT, a BIGINT, x DOUBLE); CREATE STREAM s (ts BIGINT, b BIGINT, y DOUBLE);"""


@pytest.mark.parametrize("seed", range(3))
def test_operators_tell_the_rows_of_all_bodies_at_once_as_they_tell_them_one_by_one(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(seed)
    conditions = [
        f"r.a > {rng.randint(0, 9)} AND r.x < s.y + {rng.randint(0, 9)}" for _ in range(40)
    ]
    joins = [f"SELECT r.a, s.b FROM r, s WHERE {each} BEGIN 0 END NOW" for each in conditions]
    filters = [
        f"SELECT a FROM r WHERE a > {at % 10} AND x < {at} BEGIN 0 END NOW" for at in range(20)
    ]
    engine = cqc.Engine(cqc.compile(DECLARED + ";".join(joins + filters)))
    seen = []

    def receive(found: object) -> None:
        for seat in found.hits():  # type: ignore[attr-defined]
            rows = found.rows_of(seat)  # type: ignore[attr-defined]
            (all_rows,) = (found.matches(np.array([seat.key])),)  # type: ignore[attr-defined]
            assert all_rows.rows.tolist() == rows.tolist()
            seen.append(type(seat))
        keys = np.unique([seat.key for seat in found.hits()])  # type: ignore[attr-defined]
        together = found.matches(keys)  # type: ignore[attr-defined]
        one_by_one = [found.matches(keys[at : at + 1]).rows for at in range(len(keys))]  # type: ignore[attr-defined]
        assert together.keys.tolist() == keys.tolist()
        assert together.rows.tolist() == [row for rows in one_by_one for row in rows.tolist()]

    monkeypatch.setattr(engine._pulls, "receive", receive)
    for step in range(4):
        for stream, first, second in (("r", "a", "x"), ("s", "b", "y")):
            rows = [
                {
                    "ts": 10 * step + rng.randint(0, 9),
                    first: rng.randint(0, 9),
                    second: rng.randint(0, 9),
                }
                for _ in range(15)
            ]
            engine.push(stream, rows)
    assert len(set(seen)) == 2
    assert SelectionSeat in seen
