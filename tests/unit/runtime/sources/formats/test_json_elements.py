"""The elements of an array of JSON, as they were written: Python's own reader is the judge."""

from __future__ import annotations

import json
import random

import pytest

from cqc.runtime.sources.formats.json_elements import TooManyRowsError, lines_of_array
from cqc.runtime.sources.formats.json_rows import JsonError

SPACES = ("", " ", "\n", "\r\n\t ")


def value(rng: random.Random, deep: int) -> object:
    kind = rng.randrange(7 if deep else 5)
    match kind:
        case 0:
            return rng.choice((None, True, False))
        case 1:
            return rng.randrange(-(10**20), 10**20)
        case 2:
            return rng.uniform(-1e300, 1e300)
        case 3 | 4:
            return "".join(rng.choice('ab"\\,]}{[\n\u00e9\U0001f600') for _ in range(5))
        case 5:
            return [value(rng, deep - 1) for _ in range(rng.randrange(4))]
        case _:
            return {str(n): value(rng, deep - 1) for n in range(rng.randrange(4))}


@pytest.mark.parametrize("seed", range(30))
def test_each_element_is_a_line(seed: int) -> None:
    rng = random.Random(seed)
    rows = [
        {f"c{n}": value(rng, 3) for n in range(rng.randrange(4))} for _ in range(rng.randrange(5))
    ]
    texts = [json.dumps(row, indent=rng.choice((None, 1)), ensure_ascii=False) for row in rows]
    between = [rng.choice(SPACES) for _ in range(4)]
    text = between[0] + "[" + between[1] + f"{between[2]},{between[3]}".join(texts) + " ]\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        lines = lines_of_array(text.encode(encoding), 5).decode().splitlines()
        assert [json.loads(line) for line in lines] == rows


def test_one_object_is_a_line_too() -> None:
    assert lines_of_array(b' {"a":\n 1} ', 1) == b'{"a":  1}\n'


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "[", "[{}", "[{},", "[{},]", "[,{}]", "[{} {}]", "[{}] 1", "{} {}", '{"a": 1'),
        *('{"a": "\n"}', '[{"a": 01}]', "[" * 5_000, '{"a":' * 5_000, "]", "[}", "[{}]]"),
    ],
)
def test_what_is_no_json_is_told(text: str) -> None:
    with pytest.raises(JsonError):
        lines_of_array(text.encode(), 10)


@pytest.mark.parametrize("text", ["1", "[1]", "[{}, []]", '"a"', "null", "[[{}]]"])
def test_other_values_than_objects_are_told(text: str) -> None:
    with pytest.raises(TypeError):
        lines_of_array(text.encode(), 10)


def test_too_many_are_told() -> None:
    assert lines_of_array(b"[{},{}]", 2) == b"{}\n{}\n"
    with pytest.raises(TooManyRowsError):
        lines_of_array(b"[{},{},{}]", 2)
