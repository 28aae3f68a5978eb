"""Rows whose keys came before are read in a quicker way than others; what they hold is the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cqc.compiler import compile as compile_text
from cqc.runtime.columns.columns import to_python
from cqc.runtime.sources.formats.json_rows import JsonRows

RELATION = compile_text(
    "CREATE STREAM s (ts BIGINT, name STRING, id STRING FROM 'Event.System.Id', other STRING FROM 'Event.Other');"
).catalog.find("s")
assert RELATION is not None

KEYS = ["ts", "name", "Name", "Event", "unknown", "Event.Other", "né"]
VALUES = st.sampled_from(["1", "null", '"x"', '"a\\\\b"', "[1]", "{}", '{"System": {"Id": 7}}', '{"System": {"Id": "i"}, "Other": true}', '{"Other": 1, "Other": 2}', '"é"', "oops"])  # fmt: skip
LINES = st.lists(
    st.lists(st.tuples(st.sampled_from(KEYS), VALUES), max_size=5).map(
        lambda pairs: "{" + ", ".join(f'"{key}": {value}' for key, value in pairs) + "}"
    ),
    max_size=6,
)


def rows_of(reader: JsonRows, lines: list[str]) -> list[Any]:
    found: list[Any] = []
    for part in reader.lines("\n".join(lines).encode()):
        found += zip(*(to_python(column) for column in part.columns), strict=True)
        found += sorted(reject.reason for reject in part.rejects)
        found.append(part.absent and sorted(part.absent.columns))
    return found


@given(LINES)
def test_rows_are_the_same_when_their_keys_are_known(lines: list[str]) -> None:
    assert RELATION is not None
    experienced = JsonRows(RELATION)
    every_key = json.dumps(
        {"ts": 1, "name": "", "Name": "", "unknown": 1, "Event.Other": 1, "né": 1}
    )
    nested = '{"ts": 1, "Event": {"System": {"Id": 1}, "Other": 2}}'
    rows_of(experienced, [every_key.replace("\\u00e9", "é"), nested])
    fresh = rows_of(JsonRows(RELATION), lines)
    assert rows_of(experienced, lines) == fresh
    assert rows_of(experienced, lines) == fresh


@pytest.mark.parametrize("count", [1, 500])
def test_more_keys_than_are_kept_are_read_all_the_same(count: int) -> None:
    assert RELATION is not None
    reader = JsonRows(RELATION)
    others = ", ".join(f'"k{number}": {number}' for number in range(count))
    for _ in range(2):
        assert rows_of(reader, ['{"ts": 5, ' + others + ', "name": "last"}'])[0][:2] == (5, "last")


def names_of(text: bytes) -> list[Any]:
    assert RELATION is not None
    found: list[Any] = []
    for part in JsonRows(RELATION).lines(text):
        found += to_python(part.columns[1])
        found += ["rejected"] * len(part.rejects)
    return found


@given(st.lists(st.text('ab\\"/\n\té\U0001f600', max_size=150), max_size=4), st.booleans())
def test_strings_are_read_whatever_is_escaped(texts: list[str], ascii_only: bool) -> None:
    lines = [json.dumps({"name": text, "ts": 1}, ensure_ascii=ascii_only) for text in texts]
    assert names_of("\n".join(lines).encode() + b"\n" * 80) == texts


@given(st.text('\\\\\\"abnu0/', max_size=150), st.text("x", max_size=70))
def test_what_is_no_string_is_told_from_one(written: str, before: str) -> None:
    line = f'{{"ts": 1, "name": "{before}{written}"}}'
    try:
        expected = json.loads(line)["name"]
    except ValueError:
        expected = "rejected"
    rest = b'{"ts": 2, "name": "next"}'
    assert names_of(line.encode() + b"\n" + rest + b"\n" * 80) in (
        [expected, "next"],
        ["next", expected],
    )


@pytest.mark.parametrize("broken", ['{"a": [1,', '{"ts": 1,', '{"name": "a', '{"ts":', '{"a": {"b":'])  # fmt: skip
def test_no_object_goes_on_in_the_next_line(broken: str) -> None:
    first, last = '{"ts": 1, "name": "first", "a": 0}', '{"ts": 2, "name": "last"}'
    text = f"{first}\n{broken}\n2]}}\n{last}".encode()
    assert sorted(names_of(text + b"\n" * 80)) == ["first", "last", "rejected", "rejected"]
