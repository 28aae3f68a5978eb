from __future__ import annotations

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import Interval, PatternAtom, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.filter.atoms import Atoms
from cqc.runtime.filter.bits.bit_sweep import FIRST_ID, NO_TUPLE
from cqc.runtime.filter.bits.formula_bits import FALSE

TYPES = (ColumnType.BIGINT, ColumnType.STRING)


def between(low: int, high: int) -> ValueAtom:
    return ValueAtom(0, ColumnType.BIGINT, (Interval(low, True, high, False),))


def like(pattern: str, *, negated: bool = False) -> PatternAtom:
    return PatternAtom(1, PatternKind.LIKE, pattern, "\\", negated=negated)


def text(*values: str) -> ValueAtom:
    return ValueAtom(1, ColumnType.STRING, tuple(Interval(one, True, one, True) for one in values))


def test_a_comparison_with_numbers_is_a_pair_of_cuts_that_equal_ones_share() -> None:
    atoms = Atoms(TYPES)
    one, two = atoms.leaf(between(3, 7)), atoms.leaf(between(3, 7))
    assert one.pairs == two.pairs
    assert one.of_cuts
    other = atoms.leaf(between(7, 9))
    assert {*one.pairs[0]} & {*other.pairs[0]}  # the cut at 7


def test_an_equality_is_a_point() -> None:
    leaf = Atoms(TYPES).leaf(ValueAtom(0, ColumnType.BIGINT, (Interval(5, True, 5, True),)))
    assert leaf.is_point


def test_a_text_is_a_sparse_atom_that_reports_its_hits() -> None:
    atoms = Atoms(TYPES)
    leaf = atoms.leaf(text("a", "b"))
    ((row_id, no_tuple),) = leaf.pairs
    assert (no_tuple, leaf.guard) == (NO_TUPLE, row_id)
    assert atoms.sparse_count == 1
    ((tuples, ids),) = atoms.hits_of(1, from_python(ColumnType.STRING, ["b", None, "x", "a"]))
    assert sorted(zip(tuples.tolist(), ids.tolist(), strict=True)) == [(0, row_id), (3, row_id)]


def test_equal_atoms_are_one_until_the_last_of_them_goes() -> None:
    atoms = Atoms(TYPES)
    (one, _), *_ = atoms.leaf(like("%x%")).pairs
    (two, _), *_ = atoms.leaf(like("%x%")).pairs
    assert one == two
    atoms.release(one)
    assert atoms.sparse_count == 1
    atoms.release(two)
    assert atoms.sparse_count == 0
    assert atoms.leaf(text("new")).pairs[0][0] == one  # its number is used again


def test_the_negation_of_a_pattern_shares_its_row() -> None:
    atoms = Atoms(TYPES)
    ((row_id, _),) = atoms.leaf(like("%x%")).pairs
    ((not_null, same),) = atoms.leaf(like("%x%", negated=True)).pairs
    assert same == row_id
    assert not_null >= FIRST_ID


def test_a_pattern_that_every_text_fits_asks_only_for_text() -> None:
    atoms = Atoms(TYPES)
    ((not_null, no_tuple),) = atoms.leaf(like("%")).pairs
    assert no_tuple == NO_TUPLE
    assert not_null == atoms.cuts[1].end
    assert atoms.leaf(like("%", negated=True)) == FALSE


def test_a_pattern_without_a_literal_is_a_mask() -> None:
    atoms = Atoms(TYPES)
    ((row_id, _),) = atoms.leaf(like("___")).pairs
    assert atoms.mask_ids == (row_id,)
    column = from_python(ColumnType.STRING, ["abc", None, "ab", "xbz"])
    assert atoms.mask(row_id, lambda _: column, 4, {}).tolist() == [True, False, False, True]


def test_each_row_belongs_to_the_column_that_fills_it() -> None:
    atoms = Atoms(TYPES)
    ((low, high),) = atoms.leaf(between(1, 2)).pairs
    ((row_id, _),) = atoms.leaf(text("a")).pairs
    columns = atoms.columns_of_ids()
    assert (columns[low], columns[high], columns[row_id], columns[NO_TUPLE]) == (0, 0, 1, -1)
