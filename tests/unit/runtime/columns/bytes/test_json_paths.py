"""Values at paths, beside Python's parser; whatever the kernel does not leave must be right."""

from __future__ import annotations

import json
import random
from typing import Any

import pyarrow as pa
import pytest

from cqc.runtime.columns.bytes.json_paths import INNER, LEFT, NOTHING, NUMBER, TEXT, values_at
from cqc.runtime.expressions.json_functions import get_json_object

CHOSEN = random.Random(7)


def some_json(depth: int = 0) -> str:
    kind = CHOSEN.randrange(9 if depth < 4 else 6)
    if kind < 3:
        words = ["true", "null", "12", "-3", "1.5", "-0", "01", "1e3", "NaN", "-"]
        return CHOSEN.choice(words)
    if kind < 6:
        text = CHOSEN.choice(["a", "", "é😀", "x y", "\t", '"q', "\\"])
        return json.dumps(text, ensure_ascii=CHOSEN.random() < 0.3)
    white = CHOSEN.choice(["", "", " ", "\n"])
    inner = [some_json(depth + 1) for _ in range(CHOSEN.randrange(4))]
    if kind < 8:
        pairs = [f'"{CHOSEN.choice("abc")}"{white}:{each}' for each in inner]
        return f"{{{white}{','.join(pairs)}}}"
    return f"[{f',{white}'.join(inner)}]"


def broken(text: str) -> str:
    if CHOSEN.random() > 0.2 or not text:
        return text
    at = CHOSEN.randrange(len(text))
    return text[:at] + CHOSEN.choice(["", "}", '"', ",", "\\", " "]) + text[at + 1 :]


@pytest.mark.parametrize(
    ("path", "steps"),
    [("$.a", ["a"]), ("$.a.b", ["a", "b"]), ("$.b[0]", ["b", 0]), ("$[1].a", [1, "a"])],
)
def test_what_is_found_is_what_python_finds(path: str, steps: list[Any]) -> None:
    texts = [broken(some_json()) for _ in range(4_000)]
    made, outcome = values_at(pa.array(texts), steps)
    for text, got, kind in zip(texts, made.to_pylist(), outcome.tolist(), strict=True):
        if kind != LEFT:
            assert get_json_object(text, path) == (None if kind == NOTHING else got), text
    assert (outcome == LEFT).sum() < len(texts)


def test_kinds_are_told() -> None:
    texts = ['{"a": "x"}', '{"a": 12}', '{"a": {"b":1}}', '{"a": 1.5}', '{"b": 1}', '{"a": null}']
    made, outcome = values_at(pa.array(texts), ["a"])
    assert outcome.tolist() == [TEXT, NUMBER, INNER, LEFT, NOTHING, NOTHING]
    assert made.to_pylist()[:3] == ["x", "12", '{"b":1}']


def test_strict_texts_are_one_object_with_a_key_once() -> None:
    texts = ['{"a":1} x', '{"a":1,"a":2}', "[1]", '{"a":1,"b":"\t"}', '{"a":1.5} ']
    _, outcome = values_at(pa.array(texts), ["a"], strict=True, as_written=True)
    assert outcome.tolist() == [LEFT, LEFT, LEFT, LEFT, NUMBER]
