"""The hits of a packet, put together for the sweep: of single tuples, and by the codes of repeated texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cqc.runtime.columns.repeated_text import CodedHits
from cqc.runtime.filter.known_texts import TextsFound
from cqc.runtime.filter.packet_hits import HitForms, PacketHits, sort_by_block

if TYPE_CHECKING:
    from numpy.typing import NDArray


def numbers(*each: int) -> NDArray[np.int32]:
    return np.array(each, np.int32)


def found(of_rows: list[int], values: list[int], atoms: list[int], known: int) -> TextsFound:
    """Texts of rows by number (-1: NULL), of which so many are known; `values` hit `atoms`."""
    hits = CodedHits(numbers(*values), numbers(*atoms), known)
    return TextsFound(numbers(*of_rows), np.zeros(known, np.int32), hits.starts, hits.ids)


def pairs(forms: HitForms) -> set[tuple[int, int]]:
    """Tuple and atom of every hit, of either form."""
    found = set(zip(forms.tuples.tolist(), forms.ids.tolist(), strict=True))
    for codes in forms.codes:
        for at, code in enumerate(codes.tolist()):
            if code >= 0:
                ids = forms.code_ids[forms.starts[code] : forms.starts[code + 1]]
                found |= {(at, atom) for atom in ids.tolist()}
    return found


def test_a_packet_without_hits_has_forms_of_length_zero() -> None:
    hits = PacketHits(5, 1)
    hits.add([(numbers(), numbers())], None)
    hits.add_known(found([0, 1, 0, 1, 0], [], [], 2), None)
    hits.add_known(found([0, 1, 0, 1, -1], [2], [7], 3), None)
    forms = hits.forms()
    assert pairs(forms) == set()
    assert len(forms.codes) == 0
    assert forms.most_rows == 0


def test_hits_among_some_rows_are_numbered_in_the_packet() -> None:
    hits = PacketHits(10, 1)
    hits.add([(numbers(0, 2), numbers(7, 8))], np.array([3, 5, 9]))
    hits.add([(numbers(4), numbers(7))], None)
    assert pairs(hits.forms()) == {(3, 7), (9, 8), (4, 7)}


def test_hits_of_several_blocks_come_block_by_block() -> None:
    hits = PacketHits(1_600, 4)
    hits.add([(numbers(3, 1_030, 600), numbers(1, 1, 1))], None)
    hits.add([(numbers(1, 1_535, 511), numbers(2, 2, 2))], None)
    forms = hits.forms()
    assert (np.diff(forms.tuples >> 9) >= 0).all()
    assert pairs(forms) == {(3, 1), (1_030, 1), (600, 1), (1, 2), (1_535, 2), (511, 2)}
    assert forms.most_rows == 3


def test_codes_of_a_second_column_follow_those_of_the_first() -> None:
    hits = PacketHits(4, 1)
    hits.add_known(found([5, 6, 5, -1], [5, 5, 3], [10, 11, 9], 7), None)
    hits.add_known(found([0, 1, 2, 1], [1, 2], [12, 10], 3), None)
    forms = hits.forms()
    assert forms.codes.tolist() == [[0, -1, 0, -1], [-1, 1, 2, 1]]
    assert pairs(forms) == {(0, 10), (0, 11), (2, 10), (2, 11), (1, 12), (3, 12), (2, 10)}
    assert forms.most_rows == 4


def test_a_column_of_some_rows_has_codes_there_alone() -> None:
    hits = PacketHits(6, 1)
    hits.add_known(found([0, 1, 1], [1], [5], 2), np.array([0, 2, 4]))
    assert pairs(hits.forms()) == {(2, 5), (4, 5)}


def test_forms_are_made_anew_when_hits_were_added() -> None:
    hits = PacketHits(3, 1)
    hits.add([(numbers(0), numbers(1))], None)
    assert hits.forms() is hits.forms()
    hits.add([(numbers(2), numbers(1))], None)
    assert pairs(hits.forms()) == {(0, 1), (2, 1)}
    hits.add_known(found([0, 0, -1], [0], [4], 1), None)
    assert pairs(hits.forms()) == {(0, 1), (2, 1), (0, 4), (1, 4)}


def test_hits_of_one_block_keep_their_order() -> None:
    tuples, ids = sort_by_block(numbers(600, 5, 599, 3), numbers(1, 2, 3, 4), 2)
    assert tuples.tolist() == [5, 3, 600, 599]
    assert ids.tolist() == [2, 4, 1, 3]


def test_few_hits_of_known_texts_are_told_by_themselves() -> None:
    of_rows = [-1, 0, 2, -1] * 20
    of_rows[70], of_rows[33] = 1, 3
    hits = PacketHits(100, 1)
    hits.add_known(found(of_rows, [1, 1, 3], [5, 6, 5], 4), np.arange(20, 100))
    forms = hits.forms()
    assert len(forms.codes) == 0
    assert pairs(forms) == {(90, 5), (90, 6), (53, 5)}
