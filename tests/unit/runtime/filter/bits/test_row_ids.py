from __future__ import annotations

from cqc.runtime.filter.bits.bit_sweep import FIRST_ID
from cqc.runtime.filter.bits.row_ids import SHARED_ATOM, RowIds


def test_ids_are_dense_and_begin_after_the_fixed_rows() -> None:
    ids = RowIds()
    assert [ids.take(3), ids.take(), ids.take(0)] == [FIRST_ID, FIRST_ID + 1, FIRST_ID + 2]
    assert ids.column[FIRST_ID:] == [3, SHARED_ATOM, 0]
    assert len(ids) == FIRST_ID + 3


def test_an_id_is_unused_after_its_last_use_and_given_out_again_when_it_is_freed() -> None:
    ids = RowIds()
    one = ids.take()
    ids.uses[one] += 1
    assert [ids.drop(one), ids.drop(one)] == [False, True]
    assert ids.take() != one  # its owner has not freed it yet
    ids.free(one)
    assert ids.take(5) == one
    assert (ids.uses[one], ids.column[one]) == (1, 5)
