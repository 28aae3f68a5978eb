import numpy as np
import pytest

from cqc.compiler.functions import registered
from cqc.compiler.functions.registered import function, user_functions
from cqc.compiler.meaning.types import ColumnType


@pytest.fixture(autouse=True)
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered, "_registered", {})


def test_a_registered_function_is_found_by_its_folded_name() -> None:
    function("Celsius", lambda f: (f - 32) / 1.8)
    found = user_functions()["celsius"]
    assert (found.name, found.returns, found.arity) == ("celsius", ColumnType.DOUBLE, 1)


def test_the_result_type_may_be_any_type_name() -> None:
    function("is_big", lambda x: x > 5, returns="boolean")
    assert user_functions()["is_big"].returns is ColumnType.BOOLEAN


def test_arity_is_unknown_where_the_signature_does_not_say() -> None:
    function("any_number", lambda *values: values[0])
    function("one_or_two", lambda x, y=0: x + y)
    assert user_functions()["any_number"].arity is None
    assert user_functions()["one_or_two"].arity is None


def test_numpy_functions_say_how_many_arguments_they_take() -> None:
    function("hypotenuse", np.hypot)
    assert user_functions()["hypotenuse"].arity == 2


def test_registering_again_replaces() -> None:
    function("f", lambda x: x)
    function("F", lambda x, y: x)
    assert user_functions()["f"].arity == 2


@pytest.mark.parametrize("name", ["abs", "SUM", "Coalesce"])
def test_a_built_in_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="built-in"):
        function(name, lambda x: x)


def test_a_name_that_no_query_could_call_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be called"):
        function("two words", lambda x: x)


def test_an_unknown_result_type_is_refused() -> None:
    with pytest.raises(ValueError, match="DECIMAL"):
        function("f", lambda x: x, returns="DECIMAL")
