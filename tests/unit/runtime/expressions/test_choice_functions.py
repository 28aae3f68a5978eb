"""What is not chosen is not asked for, and so does not fail."""

from __future__ import annotations

import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType
from tests.unit.runtime.expressions.calls import STREAM, evaluate


@pytest.mark.parametrize(
    ("call", "values", "failures"),
    [
        ("if(i <> 0, 1 / i, 7)", [7.0, 0.5, 7.0], 0),
        ("nvl2(i, 1, 1 / 0)", [1.0, 1.0, None], 1),
        ("nvl(i, CAST('x' AS BIGINT))", [0, 2, None], 1),
        ("coalesce(i, 5 % 0, 3)", [0, 2, 3], 1),
        ("nullif(1 / i, 0.5)", [None, None, None], 1),
    ],
)
def test_only_what_is_chosen_can_fail(call: str, values: list[object], failures: int) -> None:
    assert evaluate(call, i=[0, 2, None]) == (values, failures)


def test_a_condition_that_is_null_is_not_true() -> None:
    assert evaluate("iff(f, 'yes', 'no')", f=[True, False, None]) == (["yes", "no", "no"], 0)


def test_nullif_keeps_the_type_of_its_first_argument() -> None:
    assert evaluate("nullif(i, 2.0)", i=[1, 2, None]) == ([1, None, None], 0)
    (output,) = cqc.compile(f"{STREAM} SELECT nullif(i, 2.5) AS v FROM s").queries["q1"].outputs
    assert output.expression.type is ColumnType.BIGINT


def test_nullif_of_constants_and_of_text() -> None:
    assert evaluate("nullif('a', 'a')", i=[1, 2]) == ([None, None], 0)
    assert evaluate("nullif('a', t)", t=["a", "b", None]) == ([None, "a", "a"], 0)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("nullif(t, i)", "CQ040"),
        ("if(i, 1, 2)", "CQ044"),
        ("if(f, 1, 'a')", "CQ043"),
        ("nvl(t, 1)", "CQ043"),
        ("nvl(t)", "CQ036"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(call: str, code: str) -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile(f"{STREAM} SELECT {call} AS v FROM s")
    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_nothing_but_null_is_null() -> None:
    for call in ("if(f, NULL, NULL)", "nvl(NULL, NULL)", "nullif(NULL, NULL)"):
        assert evaluate(call, i=[1]) == ([None], 0)
