"""Functions of users: every shape of answer they may give, and what happens when they fail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.functions.registered import UserFunction
from cqc.compiler.types import ColumnType as T
from cqc.runtime.columns import from_python, to_python
from cqc.runtime.errors import RunError
from cqc.runtime.user_functions import call_user_function

if TYPE_CHECKING:
    from collections.abc import Callable


def call(
    function: Callable[..., Any], returns: T, type_: T, values: list[Any]
) -> tuple[list[Any], int]:
    made = UserFunction("f", function, returns, 1)
    column, failed = call_user_function(made, [from_python(type_, values)], len(values))
    assert column.type is returns
    return to_python(column), failed


def test_text_comes_as_python_strings() -> None:
    assert call(lambda t: [len(s) for s in t], T.BIGINT, T.STRING, ["a", "bcd"]) == ([1, 3], 0)


def test_instants_come_and_go_as_datetime64() -> None:
    later = call(lambda t: t + np.timedelta64(1, "s"), T.TIMESTAMP, T.TIMESTAMP, [5])
    assert later == ([1_000_005], 0)


@pytest.mark.parametrize(
    "answer",
    [
        [1.0, None],
        np.ma.masked_array([1.0, 2.0], [False, True]),
        pa.array([1.0, None]),
        pa.chunked_array([[1.0], [None]]),
    ],
)
def test_missing_answers_are_null(answer: Any) -> None:
    assert call(lambda x: answer, T.DOUBLE, T.BIGINT, [1, 2]) == ([1.0, None], 0)


def test_one_value_stands_for_all() -> None:
    assert call(lambda x: 7, T.BIGINT, T.BIGINT, [1, 2]) == ([7, 7], 0)


def test_a_bigint_answer_must_be_whole() -> None:
    assert call(lambda x: x / 2, T.BIGINT, T.BIGINT, [4, 5]) == ([2, None], 1)


def test_text_answers() -> None:
    assert call(lambda x: [None, "b"], T.STRING, T.BIGINT, [1, 2]) == ([None, "b"], 0)


def test_a_bad_tuple_costs_itself_only() -> None:
    def root(values: np.ndarray[Any, Any]) -> list[int]:
        return [10 // int(value) for value in values]

    assert call(root, T.BIGINT, T.BIGINT, [2, 0, 5]) == ([5, None, 2], 1)


@pytest.mark.parametrize("values", [[1], [1, 2]])
def test_a_function_that_always_fails_gives_null_and_is_counted(values: list[int]) -> None:
    def broken(values: object) -> None:
        raise ValueError("no luck")

    assert call(broken, T.BIGINT, T.BIGINT, values) == ([None] * len(values), len(values))


def test_a_wrong_number_of_answers_is_a_run_error() -> None:
    with pytest.raises(RunError, match="returned 1 values for 2 tuples"):
        call(lambda x: x[:1], T.BIGINT, T.BIGINT, [1, 2])


def test_no_rows_do_not_call_the_function() -> None:
    assert call(lambda x: 1 / 0, T.DOUBLE, T.BIGINT, []) == ([], 0)
