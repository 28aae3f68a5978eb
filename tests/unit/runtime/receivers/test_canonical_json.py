"""Canonical JSON: numbers as JavaScript writes them, names in the order of their UTF-16 units."""

from __future__ import annotations

import hashlib
import json
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cqc
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.receivers.canonical_json import (
    canonical_number,
    canonical_rows,
    canonical_values,
)
from cqc.runtime.receivers.result_ids import ResultIds


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (110.0, "110"),
        (-1.25, "-1.25"),
        (1e20, "100000000000000000000"),
        (1e21, "1e+21"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (333333333.33333329, "333333333.3333333"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_numbers_are_written_as_the_standard_says(value: float, text: str) -> None:
    assert canonical_number(value) == text


def test_names_are_sorted_by_utf16_and_text_is_escaped_no_more_than_it_must_be() -> None:
    columns = [
        Column(ColumnType.STRING, pa.array(['a"\n\u2028é']), None),
        Column(ColumnType.BIGINT, np.array([7]), None),
        Column(ColumnType.BOOLEAN, np.array([True]), np.array([False])),
    ]
    rows = canonical_rows(["\ufb33", "\U0001f600", "a"], columns, 1).to_pylist()
    assert rows == ['{"a":null,"\U0001f600":"7","\ufb33":"a\\"\\n\u2028é"}']


def test_columns_of_numbers_are_written_like_single_ones() -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**63, 20_000).view(np.float64)
    near = rng.random(20_000) * 10.0 ** rng.integers(-9, 25, 20_000)
    whole = np.round(rng.random(5_000) * 1e17)
    special = [0.0, -0.0, 1e15, 1e16, 1e20, 1e21, 1e-6, 9.999e-7, np.inf, -np.inf, np.nan, -5e-324]
    values = np.concatenate([bits, near, -near, whole, special])
    found = canonical_values(Column(ColumnType.DOUBLE, values, None)).to_pylist()
    assert found == [canonical_number(value) for value in values.tolist()]


def canonical(value: Any) -> str:
    """A second formulation of the standard: over Python values, as the page says they enter."""
    match value:
        case None | bool():
            return json.dumps(value)
        case int() | Decimal():
            return f'"{value}"'
        case float():
            return canonical_number(value)
        case str():
            return json.dumps(value, ensure_ascii=False)
        case dict():
            names = sorted(value, key=lambda name: name.encode("utf-16-be"))
            return f"{{{','.join(f'{json.dumps(name, ensure_ascii=False)}:{canonical(value[name])}' for name in names)}}}"
        case _:
            return f"[{','.join(map(canonical, value))}]"


def test_ids_of_all_types_are_those_of_the_page() -> None:
    program = cqc.compile(
        "CREATE STREAM s (ts TIMESTAMP, i BIGINT, f DOUBLE, t STRING, b BOOLEAN, d DECIMAL(20, 3), "
        "n STRUCT<z BIGINT, a ARRAY<DOUBLE>, m MAP<STRING, BIGINT>>);"
        'CREATE QUERY "ünï" AS SELECT i AS "\U0001f600", f AS "\ufb33", t, b, d, n, i + 1 AS more FROM s'
    )
    engine = cqc.Engine(program)
    nested = {
        "z": 2**53 + 1,
        "a": [1.0, 1e300, None],
        "m": {"\U0001f600": 1, "\ufb33": -(2**63), "a": None},
    }
    rows: list[dict[str, Any]] = [
        {"i": 2**63 - 1, "f": 1e21, "t": 'q"\\\n\x01\u2028\x85é😀', "b": True, "d": "1.500"},
        {"i": -5, "f": -0.0, "t": "", "b": None, "d": "-12345678901234567.891", "n": nested},
        {"i": None, "f": 0.1, "t": None, "b": False, "d": None, "n": {"z": None, "a": [], "m": {}}},
    ]
    for at, row in enumerate(rows):
        engine.push("s", [{"ts": f"2024-01-01T00:00:0{at}.5Z", **row}])
    found = list(engine.drain_blocks())
    ids = ResultIds("prög")
    told = [id_ for blocks in found for id_ in ids.number(blocks).to_pylist()]
    expected = []
    for at, row in enumerate(rows):
        decimal = None if row["d"] is None else Decimal(row["d"])
        own = {
            "\U0001f600": row["i"],
            "\ufb33": row["f"],
            "t": row["t"],
            "b": row["b"],
            "d": decimal,
            "n": row.get("n"),
            "more": None if row["i"] in (None, 2**63 - 1) else row["i"] + 1,
        }
        inside = ",".join(
            ['"prög"', '"ünï"', f'"2024-01-01T00:00:0{at}.500000Z"', "null", canonical(own), "0"]
        )
        expected.append(hashlib.sha256(f"[{inside}]".encode()).hexdigest()[:32])
    assert told == expected
