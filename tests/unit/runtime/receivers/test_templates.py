"""Texts with values in them."""

import json

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.templates import Template, shown


def test_values_stand_where_their_names_do() -> None:
    assert (
        Template("{room} is at {t}, {{not this}}").fill({"room": "k", "t": 1.5})
        == "k is at 1.5, {not this}"
    )
    assert Template("{a}{b}").names == ["a", "b"]


def test_json_stays_json_whatever_is_in_a_value() -> None:
    template = Template('{{"text": "{x}"}}')
    assert template.is_json
    assert json.loads(template.fill({"x": 'a"b\n}'})) == {"text": 'a"b\n}'}


@pytest.mark.parametrize("text", ["a { b", "a } b", "{}", "{a"])
def test_a_brace_alone_is_told(text: str) -> None:
    with pytest.raises(RunError, match="single"):
        Template(text)


def test_values_are_shown_as_a_cast_would() -> None:
    assert [shown(each) for each in (None, True, "a", 3, {"b": [1]})] == [
        "null",
        "true",
        "a",
        "3",
        '{"b": [1]}',
    ]
