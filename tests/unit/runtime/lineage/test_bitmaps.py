from __future__ import annotations

import numpy as np
import pytest

from cqc.runtime.lineage import bitmaps as module
from cqc.runtime.lineage.bitmaps import Lineage


def lineage_of(bits: np.ndarray, form: str) -> Lineage:
    """A lineage of a bool array [slots, tuples], held as rows or as pairs."""
    slots, tuples = bits.shape
    if form == "pairs":
        pair_slots, pair_tuples = np.nonzero(bits)
        shuffled = np.random.default_rng(0).permutation(len(pair_slots))
        return Lineage.of_pairs(tuples, slots, pair_tuples[shuffled], pair_slots[shuffled])
    padded = np.zeros((slots, -(-tuples // 64) * 64), np.bool_)
    padded[:, :tuples] = bits
    rows = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return Lineage.of_rows(tuples, rows)


def random_bits(slots: int, tuples: int, share: float = 0.1) -> np.ndarray:
    return np.random.default_rng(slots * 1000 + tuples).random((slots, tuples)) < share


forms = pytest.mark.parametrize("form", ["rows", "pairs"])
shapes = pytest.mark.parametrize(
    ("slots", "tuples"), [(1, 1), (3, 64), (64, 65), (70, 200), (200, 3)]
)


@forms
@shapes
def test_counts_positions_and_pairs_say_the_same(form: str, slots: int, tuples: int) -> None:
    bits = random_bits(slots, tuples)
    lineage = lineage_of(bits, form)
    assert lineage.counts().tolist() == bits.sum(axis=1).tolist()
    for slot in range(slots):
        assert lineage.tuples_of(slot).tolist() == np.flatnonzero(bits[slot]).tolist()
    pair_slots, pair_tuples = np.nonzero(bits)
    found_tuples, found_slots = lineage.pairs()
    assert found_slots.tolist() == pair_slots.tolist()
    assert found_tuples.tolist() == pair_tuples.tolist()
    assert lineage.any_tuple().tolist() == bits.any(axis=0).tolist()


@forms
@shapes
def test_bits_by_tuple_are_the_transpose(form: str, slots: int, tuples: int) -> None:
    bits = random_bits(slots, tuples, 0.5)
    turned = lineage_of(bits, form).by_tuple()
    assert turned.shape == (tuples, -(-slots // 64))
    unpacked = np.unpackbits(turned.view(np.uint8), axis=1, bitorder="little")[:, :slots]
    assert unpacked.astype(bool).tolist() == bits.T.tolist()


@forms
def test_rows_of_chosen_slots_come_in_the_order_asked_for(form: str) -> None:
    bits = random_bits(10, 100, 0.5)
    rows = lineage_of(bits, form).for_slots(np.array([7, 2]))
    unpacked = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :100]
    assert unpacked.astype(bool).tolist() == bits[[7, 2]].tolist()


def test_positions_are_worked_out_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_POSITIONS_AT_ONCE", 7)
    bits = random_bits(50, 90)
    lineage = lineage_of(bits, "rows")
    for slot in [3, 4, 40, 0, 49, *range(50)]:
        assert lineage.tuples_of(slot).tolist() == np.flatnonzero(bits[slot]).tolist()
