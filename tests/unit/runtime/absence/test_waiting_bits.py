"""Rows of many rules wait together, and become rows of a rule when their last instants are over."""

from __future__ import annotations

import numpy as np

from cqc.runtime.absence.tuple_bits import TupleBits
from cqc.runtime.absence.waiting_bits import BitRows, WaitingBits, together


def rows(positions: list[int], bits: list[int]) -> BitRows:
    own = np.array(positions, np.int64)
    return BitRows([own], own * 10, np.array(bits, np.uint64)[:, None])


def waiting_for(found: BitRows, entries: TupleBits) -> WaitingBits:
    waiting = WaitingBits([0])
    entries.have(found.positions[0])
    waiting.append(found, found.times_us[None])
    return waiting


def decided(waiting: WaitingBits, entries: TupleBits, watermark: int) -> list[tuple[int, ...]]:
    reach = np.array([[10, 18]])  # within 5, within 9
    passed = waiting.decide([entries], reach, np.array([2 * watermark]))
    return [
        row
        for each in passed
        for row in zip(
            *(a.tolist() for a in (each.rules, *each.positions, each.times_us)), strict=True
        )
    ]


def test_bits_are_decided_rule_by_rule() -> None:
    entries = TupleBits()
    waiting = waiting_for(rows([10, 11], [0b11, 0b11]), entries)
    entries.mark_rows(np.array([10]), np.array([[0b01]], np.uint64))
    assert decided(waiting, entries, 105) == []
    assert decided(waiting, entries, 110) == [(1, 10, 109)]
    assert len(waiting) == 2
    assert decided(waiting, entries, 1_000) == [(0, 11, 115), (1, 11, 119)]
    assert (len(waiting), waiting.nbytes, waiting.chunks) == (0, 0, [])


def test_a_rule_that_leaves_waits_for_nothing() -> None:
    entries = TupleBits()
    waiting = waiting_for(rows([10], [0b11]), entries)
    waiting.drop_rule(0)
    waiting.drop_rule(64)
    assert decided(waiting, entries, 1_000) == [(1, 10, 109)]


def test_rows_of_several_findings_and_of_single_rules() -> None:
    wide = BitRows([np.array([3])], np.array([30]), np.array([[0, 1]], np.uint64))
    both = together([rows([1, 2], [0b01, 0b11]), wide])
    pairs = both.by_rule()
    assert pairs.rules.tolist() == [0, 0, 1, 64]
    assert pairs.positions[0].tolist() == [1, 2, 2, 3]
    assert pairs.times_us.tolist() == [10, 20, 20, 30]
