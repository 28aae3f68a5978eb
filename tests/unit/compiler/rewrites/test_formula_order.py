"""Equal formulas are equal however they were written: their parts are in the order of their `repr`."""

import pytest

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import (
    ALWAYS,
    AllOf,
    AnyOf,
    FoldedAtom,
    Formula,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.meaning.value_sets import EVERYTHING
from cqc.compiler.rewrites.attribute_formulas import _text, conjoin

PATTERN = PatternAtom(3, PatternKind.ILIKE, '%it\'s "so"\\%\n', "\\", False)
DENIED = PatternAtom(12, PatternKind.RLIKE, "é+", "!", True, True)
FOLDED = FoldedAtom(1, ("a", "b"), False, True)
VALUES = ValueAtom(0, ColumnType.STRING, EVERYTHING)


@pytest.mark.parametrize(
    "formula",
    [
        PATTERN,
        DENIED,
        FOLDED,
        VALUES,
        ALWAYS,
        AllOf((PATTERN,)),
        AnyOf((PATTERN, AllOf((DENIED, FOLDED)), VALUES)),
    ],
)
def test_the_order_is_that_of_repr(formula: Formula) -> None:
    assert _text(formula) == repr(formula)


def test_parts_in_any_order_are_one_formula() -> None:
    parts = [PATTERN, DENIED, FOLDED, AnyOf((PATTERN, DENIED))]
    assert conjoin(parts) == conjoin(reversed(parts))
