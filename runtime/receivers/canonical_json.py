"""Values as canonical JSON (RFC 8785), by column: what the id of a result is the hash of.

Two systems that read the same result get the same text: names in the order of their UTF-16 units, no white space, numbers as JavaScript
writes them. BIGINT and DECIMAL, which JavaScript cannot hold, are written as text, also inside of nested values; so are NaN and the infinities, which JSON has not.
"""

from __future__ import annotations

import json
import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.distinct_text import text_of_text
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    lists_of,
    nested_of,
    offsets_of,
)
from cqc.runtime.columns.sortable_columns import number_texts
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.sinks.json_text import json_times, json_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

_SECOND_US = 1_000_000
_DECIMALS_BELOW = 1e21  # JavaScript writes larger numbers with an exponent
_SMALLEST_DECIMAL = 1e-6
_MUST_BE_ESCAPED = r'["\\\x00-\x1f]'


def canonical_text(text: str) -> str:
    """A text as a JSON string, with nothing escaped that need not be."""
    return json.dumps(text, ensure_ascii=False)


def canonical_number(value: float) -> str:
    """A double as JavaScript writes it; what JSON has no number for is a text."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    shortest = repr(abs(value))
    if "e" in shortest:
        mantissa, _, exponent = shortest.partition("e")
        digits, power = mantissa.replace(".", ""), int(exponent)
    else:
        whole, _, fraction = shortest.partition(".")
        fraction = "" if fraction == "0" else fraction
        digits = (whole + fraction).lstrip("0")
        power = len(whole) - 1 if whole != "0" else -(len(fraction) - len(fraction.lstrip("0"))) - 1
    digits = digits.rstrip("0") or "0"
    if _SMALLEST_DECIMAL <= abs(value) < _DECIMALS_BELOW:
        if power < 0:
            return f"{sign}0.{'0' * (-power - 1)}{digits}"
        if len(digits) <= power + 1:
            return sign + digits.ljust(power + 1, "0")
        return f"{sign}{digits[: power + 1]}.{digits[power + 1 :]}"
    point = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}e{'+' if power > 0 else '-'}{abs(power)}"


def _utf16(name: str) -> bytes:
    """By which names are in order."""
    return name.encode("utf-16-be")


def canonical_rows(names: Sequence[str], columns: Sequence[Column], count: int) -> pa.StringArray:
    """Each row as a canonical JSON object."""
    if not names:
        return pa.repeat(pa.scalar("{}"), count)
    order = sorted(range(len(names)), key=lambda at: _utf16(names[at]))
    parts: list[Any] = []
    for place, at in enumerate(order):
        parts.append(f"{'{' if place == 0 else ','}{canonical_text(names[at])}:")
        parts.append(canonical_values(columns[at]))
    return pc.binary_join_element_wise(*parts, "}", "")


def canonical_values(column: Column) -> pa.StringArray:
    """Each value as canonical JSON; NULL is `null`."""
    match column.type:
        case ColumnType.BIGINT:
            present = _quoted(pc.cast(pa.array(column.values), pa.string()))
        case ColumnType.DOUBLE:
            present = _numbers(column.values)
        case ColumnType.INTERVAL:
            present = _numbers(column.values / _SECOND_US)
        case ColumnType.STRING:
            present = _texts(column.values)
        case DecimalType():
            present = _quoted(number_texts(column))
        case StructType() | ArrayType() | MapType():
            present = _nested(column)
        case _:
            return json_values(column)
    if column.valid is None:
        return present
    return pc.if_else(pa.array(column.valid), present, "null")


def canonical_times(times_us: NDArray[np.int64], type_: ColumnType) -> pa.StringArray:
    """Result times: as in the result's line, numbers as the values of their type are."""
    if type_ is ColumnType.TIMESTAMP:
        return json_times(times_us, type_)
    whole = (times_us % _SECOND_US == 0) & (type_ is ColumnType.BIGINT)
    wholes = _quoted(pc.cast(pa.array(times_us // _SECOND_US), pa.string()))
    texts = wholes
    if not whole.all():
        texts = pc.if_else(pa.array(whole), wholes, _numbers(times_us / _SECOND_US))
    unknown = times_us == NO_TIME
    return pc.if_else(pa.array(unknown), "null", texts) if unknown.any() else texts


def _numbers(values: NDArray[np.float64]) -> pa.StringArray:
    """Arrow writes the same digits as JavaScript, and nearly always in the same way; the others are written one by one."""
    texts = pc.cast(pa.array(values, from_pandas=False), pa.string())
    with np.errstate(invalid="ignore"):
        size = np.abs(values)
        same = (size >= _SMALLEST_DECIMAL) & (size < _DECIMALS_BELOW)
    same &= ~pc.match_substring(texts, "e").to_numpy(zero_copy_only=False)
    if same.all():
        return texts
    distinct, at = np.unique(values[~same], return_inverse=True)
    others = pa.array([canonical_number(value) for value in distinct.tolist()], pa.string())
    return pc.replace_with_mask(texts, pa.array(~same), others.take(pa.array(at.reshape(-1))))


def _texts(values: pa.StringArray) -> pa.StringArray:
    if pc.any(pc.match_substring_regex(values, _MUST_BE_ESCAPED)).as_py():
        return text_of_text(values, canonical_text)
    return _quoted(values)


def _quoted(texts: Any) -> pa.StringArray:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _nested(column: Column) -> pa.StringArray:
    """Objects and arrays; the names of an object are in order, whatever the order of its fields."""
    type_, nested = column.type, nested_of(column)
    if isinstance(type_, StructType):
        names = [name for name, _ in type_.fields]
        parts = [
            column_of_inner(inner, field_of(nested, at))
            for at, (_, inner) in enumerate(type_.fields)
        ]
        return canonical_rows(names, parts, len(column))
    if isinstance(type_, MapType):
        return _maps(type_, nested)
    assert isinstance(type_, ArrayType)
    texts = canonical_values(column_of_inner(type_.element, nested.flatten()))
    inside = pc.binary_join(lists_of(offsets_of(nested), texts, None), ",")
    return pc.binary_join_element_wise("[", inside, "]", "")


def _maps(type_: MapType, nested: Any) -> pa.StringArray:
    """A key that is no text is its text, as in a line; each map has an order of its own."""
    entries = nested.flatten()
    lines = json_values(column_of_inner(type_.key, field_of(entries, 0))).to_pylist()
    keys = [json.loads(text) if text.startswith('"') else text for text in lines]
    items = canonical_values(column_of_inner(type_.item, field_of(entries, 1))).to_pylist()
    offsets = offsets_of(nested).tolist()
    made = []
    for begin, end in pairwise(offsets):
        order = sorted(range(begin, end), key=lambda at: _utf16(keys[at]))
        inside = ",".join(f"{canonical_text(keys[at])}:{items[at]}" for at in order)
        made.append(f"{{{inside}}}")
    return pa.array(made, pa.string())
