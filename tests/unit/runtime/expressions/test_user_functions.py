"""Functions of users: every shape of answer they may give, and what happens when they fail."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from cqc.compiler.functions.registered import UserFunction
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.errors import RunError
from cqc.runtime.expressions.function_faults import Fault, FaultsOfOne, FunctionFaults, noted_in
from cqc.runtime.expressions.user_functions import call_user_function

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


def line_of(function: Callable[..., Any], offset: int = 0) -> str:
    return f"{__file__}:{function.__code__.co_firstlineno + offset}"


def faults_of(function: Callable[..., Any], returns: T, values: list[Any]) -> FaultsOfOne:
    faults = FunctionFaults()
    with noted_in(faults):
        _, failed = call(function, returns, T.BIGINT, values)
    assert faults.count == failed
    return faults.of["f"]


def test_a_wrong_number_of_answers_gives_null_for_all_rows_and_is_told() -> None:
    def first(values: Any) -> Any:
        return values[:1]

    assert call(first, T.BIGINT, T.BIGINT, [1, 2]) == ([None, None], 2)
    told = Fault("it returned 1 value for 2 tuples", line_of(first))
    assert faults_of(first, T.BIGINT, [1, 2]) == FaultsOfOne(2, [told])


class OwnError(Exception):
    pass


@pytest.mark.parametrize("error", [OwnError, OSError, NameError, StopIteration, RunError, KeyError])
def test_whatever_a_function_raises_is_a_failure_with_message_and_line(
    error: type[Exception],
) -> None:
    def broken(values: Any) -> Any:
        if len(values):
            raise error("no luck")

    told = Fault(f"{error.__name__}: {error('no luck')}", line_of(broken, 2))
    assert faults_of(broken, T.BIGINT, [1, 2]) == FaultsOfOne(2, [told])


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_ends_a_program_goes_on(error: type[BaseException]) -> None:
    def ends(values: Any) -> Any:
        raise error

    with pytest.raises(error):
        call(ends, T.BIGINT, T.BIGINT, [1, 2])


def test_an_error_inside_numpy_is_told_at_the_line_that_called_it() -> None:
    def stacks(values: Any) -> Any:
        return np.concatenate([values, [[1]]])

    (told,) = faults_of(stacks, T.BIGINT, [1]).first
    assert told.error.startswith("ValueError: all the input arrays must have")
    assert told.at == line_of(stacks, 1)


def test_the_first_few_different_faults_are_kept_and_all_are_counted() -> None:
    def broken(values: Any) -> Any:
        raise ValueError(f"no {values[0] % 10}")

    faults = faults_of(broken, T.BIGINT, list(range(1000)))
    assert faults.failed == 1000
    assert [str(each) for each in faults.first] == [
        f"ValueError: no {number} ({line_of(broken, 1)})" for number in range(3)
    ]


@pytest.mark.parametrize(
    ("returns", "answer", "shown"),
    [
        (T.DOUBLE, "warm", "'warm'"),
        (T.BIGINT, "warm", "'warm'"),
        (T.BIGINT, 1.5, "1.5"),
        (T.BIGINT, float("nan"), "nan"),
        (T.BOOLEAN, "yes", "'yes'"),
        (T.DOUBLE, 1j, "1j"),
        (T.DOUBLE, {"a": 1}, "{'a': 1}"),
        (T.TIMESTAMP, "today", "'today'"),
    ],
)
def test_an_answer_of_the_wrong_type_is_null_and_told(returns: T, answer: Any, shown: str) -> None:
    def wrong(values: Any) -> Any:
        return [answer] * len(values)

    assert call(wrong, returns, T.BIGINT, [1, 2]) == ([None, None], 2)
    told = Fault(f"it returned {shown}, which is not a {returns.value}", line_of(wrong))
    assert faults_of(wrong, returns, [1, 2]) == FaultsOfOne(2, [told])


class Doubler:
    def __call__(self, values: Any) -> Any:
        raise ValueError("an object")


@pytest.mark.parametrize("function", [Doubler(), functools.partial(Doubler.__call__, Doubler())])
def test_objects_and_partial_functions_have_a_place_too(function: Any) -> None:
    (told,) = faults_of(function, T.BIGINT, [1]).first
    assert told == Fault("ValueError: an object", line_of(Doubler.__call__, 1))


def test_a_function_without_python_code_has_no_place() -> None:
    assert faults_of(np.linalg.inv, T.BIGINT, [1]).first[0].error.startswith("LinAlgError")
    (told,) = faults_of(math.sqrt, T.BIGINT, [-1]).first
    assert told.at == ""


def test_no_rows_do_not_call_the_function() -> None:
    assert call(lambda x: 1 / 0, T.DOUBLE, T.BIGINT, []) == ([], 0)
