from __future__ import annotations

import pytest

from cqc.compiler.meaning.normal import ALWAYS, NEVER, AllOf, AnyOf, Atom, Formula, ValueAtom
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.filter.bits.bit_sweep import AND, AND_TOP, OR, OR_TOP, PUSH, STOP, XOR
from cqc.runtime.filter.bits.formula_bits import Code, Conjunction, Leaf, compile_formula


def atom(number: int) -> ValueAtom:
    return ValueAtom(number, ColumnType.BIGINT, ())


A, B, C, D = map(atom, range(4))


def compiled(
    formula: Formula,
    *,
    sparse: tuple[int, ...] = (),
    points: tuple[int, ...] = (),
    masked: tuple[int, ...] = (),
) -> Conjunction | Code:
    """Atom n is the pair (10n, 10n + 1); atom 9 has two pairs."""

    def leaf(one: Atom) -> Leaf:
        assert isinstance(one, ValueAtom)
        number = one.column
        pairs = ((10 * number, 10 * number + 1),)
        if number == 9:
            pairs = (*pairs, (5, 6))
        guard = number if number in sparse else None
        return Leaf(pairs, guard, is_point=number in points, of_cuts=number not in masked)

    return compile_formula(formula, leaf)


def test_conjunction_stays_a_list_of_pairs() -> None:
    assert compiled(AllOf((A, B))) == Conjunction(((0, 1), (10, 11)), access=False)


def test_equality_comes_first_and_gives_access() -> None:
    assert compiled(AllOf((A, B)), points=(1,)) == Conjunction(((10, 11), (0, 1)), access=True)


def test_equality_beside_an_atom_that_is_no_comparison_gives_no_access() -> None:
    found = compiled(AllOf((A, B)), points=(1,), masked=(0,))
    assert found == Conjunction(((10, 11), (0, 1)), access=False)


def test_what_costs_least_is_asked_first_and_nothing_more_where_nothing_is_left() -> None:
    longer, long = AnyOf(tuple(map(atom, range(5)))), AnyOf(tuple(map(atom, range(3))))
    code = compiled(AllOf((longer, A, long, B)))
    assert isinstance(code, Code)
    steps = [instruction[0] for instruction in code.instructions]
    assert steps[:2] == [PUSH, AND]
    assert steps[2:7] == [STOP, PUSH, OR, OR, AND_TOP]
    assert steps[7:] == [STOP, PUSH, OR, OR, OR, OR, AND_TOP]
    assert code.depth == 2


def test_always_and_never_are_pairs_of_the_fixed_rows() -> None:
    assert compiled(ALWAYS) == Conjunction(((1, 0),), access=False)
    assert compiled(NEVER) == Conjunction(((0, 0),), access=False)


def test_alternatives_become_code_that_keeps_their_shape() -> None:
    code = compiled(AllOf((AnyOf((A, B)), C)))
    assert code == Code(((PUSH, 0, 1), (OR, 10, 11), (AND, 20, 21)), 1, None, firm=((20, 21),))
    code = compiled(AnyOf((AllOf((A, B)), AllOf((C, D)))))
    assert isinstance(code, Code)
    assert [instruction[0] for instruction in code.instructions] == [PUSH, AND, PUSH, AND, OR_TOP]
    assert code.depth == 2


def test_atom_of_several_pairs_is_their_xor() -> None:
    code = compiled(AllOf((A, atom(9))))
    assert isinstance(code, Code)
    assert code.instructions == ((PUSH, 90, 91), (XOR, 5, 6), (AND, 0, 1))


@pytest.mark.parametrize(
    ("formula", "guards"),
    [
        (AllOf((A, B, C)), (0,)),
        (AnyOf((A, B)), (0, 1)),
        (AllOf((AnyOf((A, B)), D)), (3,)),
        (AnyOf((A, C)), None),
    ],
)
def test_guards_are_a_smallest_set_of_sparse_atoms_one_of_which_must_hold(
    formula: Formula, guards: tuple[int, ...] | None
) -> None:
    code = compiled(formula, sparse=(0, 1, 3))
    assert isinstance(code, Code)
    assert guards == (None if code.guards is None else tuple(sorted(code.guards)))


def test_nested_alternatives_use_the_stack() -> None:
    code = compiled(AllOf((AnyOf((A, B)), AnyOf((C, D)))))
    assert isinstance(code, Code)
    assert code.instructions[-1][0] == AND_TOP
