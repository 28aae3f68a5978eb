"""Where in a user's code an error came from: the last line of the function's own file."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from cqc.runtime.expressions.fault_place import place_of

HERE = __file__


def failing(value: Any) -> Any:
    return 1 / value  # the place


FAILING_LINE = failing.__code__.co_firstlineno + 1


def error_of(function: Any, *arguments: Any) -> BaseException:
    try:
        function(*arguments)
    except (ArithmeticError, TypeError, ValueError) as error:
        return error
    raise AssertionError("it did not fail")


class Callable:
    def __call__(self, value: Any) -> Any:
        return failing(value)


def test_the_line_that_failed_is_named() -> None:
    assert place_of(failing, error_of(failing, 0)) == f"{HERE}:{FAILING_LINE}"


def test_an_error_inside_a_library_is_the_business_of_the_line_that_called_it() -> None:
    def calls_numpy(value: Any) -> Any:
        return np.concatenate([value, value])

    line = calls_numpy.__code__.co_firstlineno + 1
    assert place_of(calls_numpy, error_of(calls_numpy, 3)) == f"{HERE}:{line}"


def test_wrapped_functions_and_objects_have_the_place_of_what_they_call() -> None:
    @functools.wraps(failing)
    def wrapper(value: Any) -> Any:
        return failing(value)

    for function in (functools.partial(failing), wrapper, Callable()):
        assert place_of(function, error_of(function, 0)) == f"{HERE}:{FAILING_LINE}"


def test_without_an_error_it_is_where_the_function_begins() -> None:
    assert place_of(failing, None) == f"{HERE}:{FAILING_LINE - 1}"


def test_a_function_without_python_code_has_the_line_that_called_it_or_none() -> None:
    assert place_of(math.sqrt, None) == ""
    assert place_of(math.sqrt, error_of(math.sqrt, -1)).startswith(f"{HERE}:")
