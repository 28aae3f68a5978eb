"""What operators found: whoever found it, rows by seat, by key and by slot are the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import cqc

if TYPE_CHECKING:
    from cqc.runtime.lineage.matches import Found, Seat

DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, x BIGINT); CREATE STREAM r (ts BIGINT, k BIGINT, x BIGINT);"
KINDS = {
    "selections": "SELECT x FROM s WHERE x > {c}",
    "join": "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x > {c} MAXWINDOW 9 SEC",
    "family": "SELECT a.x AS x FROM s a, r b WHERE a.k = b.k AND a.x > {c} * b.x MAXWINDOW 9 SEC",
    "tree": "SELECT /*+ JOIN((a b)) */ a.x AS x FROM s a, r b WHERE a.k = b.k AND b.x > {c} MAXWINDOW 9 SEC",
    "rows": "SELECT a.x AS x FROM s [ROWS 4] a, r [ROWS 3] b WHERE a.k = b.k AND a.x > {c}",
}


def findings(text: str, monkeypatch: pytest.MonkeyPatch) -> list[Found]:
    """All that the operators of three queries found, as it came to be delivered."""
    texts = ";".join(text.format(c=c) for c in (0, 3, 6))
    engine = cqc.Engine(cqc.compile(f"{DECLARED} {texts}"))
    seen: list[Found] = []
    deliver = type(engine._deliveries).deliver

    def noted(self: object, found: Found, *rest: object) -> object:
        seen.append(found)
        return deliver(self, found, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(type(engine._deliveries), "deliver", noted)
    rows = [{"ts": at, "k": at % 2, "x": at % 9} for at in range(20)]
    engine.push_batch({"r": rows, "s": rows})
    engine.finish()
    return seen


def by_matches(
    found: Found, keys: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> dict[int, list[int]]:
    matches = found.matches(keys)
    ends = np.cumsum(matches.counts).tolist()
    begins = [0, *ends[:-1]]
    return {
        key: matches.rows[begin:end].tolist()
        for key, begin, end in zip(matches.keys.tolist(), begins, ends, strict=True)
        if begin < end
    }


def by_slots(found: Found) -> dict[int, list[int]]:
    rows = found.by_slot()
    own: dict[int, list[int]] = {}
    for slot, begin, end in zip(
        rows.slots.tolist(), rows.begins.tolist(), rows.ends.tolist(), strict=True
    ):
        for seat in found.seats_at(slot):
            own[seat.key] = sorted(rows.rows[begin:end].tolist())
    for seat, begin, end in rows.members:
        own[seat.key] = sorted(rows.rows[begin:end].tolist())
    return {key: each for key, each in own.items() if each}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_the_same_by_seat_by_key_and_by_slot(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = [found for found in findings(KINDS[kind], monkeypatch) if len(found)]
    assert seen
    for found in seen:
        hit: list[Seat] = list(found.hits())
        expected = {seat.key: sorted(found.rows_of(seat).tolist()) for seat in hit}
        keys = np.array(sorted(expected), np.int64)
        assert {key: sorted(rows) for key, rows in by_matches(found, keys).items()} == expected
        if by_slots(found):
            assert by_slots(found) == expected
        assert {seat.source for seat in hit} == {found.source}
        assert len(found.ts_us) == len(found) == len(found.positions[0])
        for rows in expected.values():
            column = found.column(0, 0, np.array(rows, np.int64))
            assert len(column) == len(rows)
