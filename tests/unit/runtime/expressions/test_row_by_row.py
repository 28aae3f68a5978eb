"""A Python function over rows: constants, columns, NULL."""

from __future__ import annotations

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.expressions.expression_kernels import constant
from cqc.runtime.expressions.row_by_row import (
    constant_text,
    is_constant,
    texts_of_rows,
    truths_of_rows,
)

TEXTS = from_python(ColumnType.STRING, ["a", None, "c"])
NUMBERS = from_python(ColumnType.BIGINT, [1, 2, 3])
STAR = constant("*", ColumnType.STRING)
TWO = constant(2, ColumnType.BIGINT)
NOTHING = constant(None, ColumnType.STRING)


def test_a_constant_stands_for_every_row() -> None:
    assert [is_constant(column) for column in (TEXTS, NUMBERS, STAR, TWO, NOTHING, None)] == [
        *(False, False, True, True, True, True)
    ]
    assert (constant_text(STAR), constant_text(NOTHING)) == ("*", "")


def test_texts_are_made_row_by_row() -> None:
    def joined(text: str, star: str, times: int) -> str:
        return text + star * times

    assert texts_of_rows(joined, TEXTS, STAR, NUMBERS).to_pylist() == ["a*", None, "c***"]
    assert texts_of_rows(joined, STAR, STAR, TWO).as_py() == "***"
    assert texts_of_rows(joined, NOTHING, STAR, TWO).as_py() is None


def test_truths_are_made_row_by_row() -> None:
    assert truths_of_rows(str.startswith, TEXTS, constant("a", ColumnType.STRING)).tolist() == [
        *(True, False, False)
    ]
    assert truths_of_rows(str.startswith, STAR, STAR).tolist() is True
    assert truths_of_rows(str.startswith, STAR, NOTHING).tolist() is False
