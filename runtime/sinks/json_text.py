"""Columns as JSON text, by whole-column kernels.

BIGINT is an integer, DOUBLE a float (with a point or an exponent; NaN and the infinities as strings), TIMESTAMP ISO 8601
text with `Z`, DECIMAL a number with all its digits, BINARY base64, nested values objects and arrays, NULL null. Rendering by column keeps Python out of the loop: a row costs a few tens of nanoseconds a field.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.date_text import format_date_column
from cqc.runtime.columns.distinct_text import text_of_text
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    lists_of,
    nested_of,
    offsets_of,
)
from cqc.runtime.columns.sortable_columns import base64_texts, number_texts
from cqc.runtime.columns.timestamp_text import format_column, format_iso
from cqc.runtime.deliver.results import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

# Some programs take the last three for line ends; a result is one line for them too.
_MUST_BE_ESCAPED = r'["\\\x00-\x1f\x{85}\x{2028}\x{2029}]'
_LINE_ENDS = {ord(character): f"\\u{ord(character):04x}" for character in "\x85\u2028\u2029"}
_SECOND_US = 1_000_000


def json_key(name: str) -> str:
    """A name as a JSON string."""
    return json.dumps(name, ensure_ascii=False).translate(_LINE_ENDS)


def json_rows(names: Sequence[str], columns: Sequence[Column], count: int) -> pa.StringArray:
    """Each row as a JSON object."""
    if not names:
        return pa.repeat(pa.scalar("{}"), count)
    parts: list[Any] = []
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts.append(f"{'{' if at == 0 else ', '}{json_key(name)}: ")
        parts.append(json_values(column))
    return pc.binary_join_element_wise(*parts, "}", "")


def json_values(column: Column) -> pa.StringArray:
    """Each value as JSON text; NULL is `null`."""
    texts = _present_values(column)
    if column.valid is None:
        return texts
    return pc.if_else(pa.array(column.valid), texts, "null")


def json_times(times_us: NDArray[np.int64], type_: ColumnType) -> pa.StringArray:
    """Result times as JSON text."""
    if type_ is ColumnType.TIMESTAMP:
        texts = _quoted(format_iso(np.where(times_us == NO_TIME, 0, times_us)))
    else:
        texts = _seconds(times_us, whole=type_ is ColumnType.BIGINT)
    unknown = times_us == NO_TIME
    return pc.if_else(pa.array(unknown), "null", texts) if unknown.any() else texts


def double_texts(values: NDArray[np.float64], quote: str = '"') -> pa.StringArray:
    """The shortest text of each double that reads back as the same, always with a point or an exponent."""
    texts = pc.cast(pa.array(values, from_pandas=False), pa.string())
    with np.errstate(invalid="ignore"):
        # Arrow writes whole doubles below 1e16 without a point.
        bare = (np.trunc(values) == values) & (np.abs(values) < 1e16)
    if bare.any():
        texts = pc.if_else(pa.array(bare), pc.binary_join_element_wise(texts, ".0", ""), texts)
        texts = _fix_exponents(texts)
    if not np.isfinite(values).all():
        texts = pc.if_else(pa.array(np.isnan(values)), f"{quote}NaN{quote}", texts)
        texts = pc.if_else(pa.array(values == np.inf), f"{quote}Infinity{quote}", texts)
        texts = pc.if_else(pa.array(values == -np.inf), f"{quote}-Infinity{quote}", texts)
    return texts


def _fix_exponents(texts: pa.StringArray) -> pa.StringArray:
    """`1e+10.0` is no number: where Arrow chose an exponent, no point was missing."""
    wrong = pc.match_substring_regex(texts, r"e.*\.0$")
    if not pc.any(wrong).as_py():
        return texts
    return pc.if_else(wrong, pc.replace_substring_regex(texts, r"\.0$", ""), texts)


def _present_values(column: Column) -> pa.StringArray:
    match column.type:
        case ColumnType.BIGINT:
            return pc.cast(pa.array(column.values), pa.string())
        case ColumnType.DOUBLE:
            return double_texts(column.values)
        case ColumnType.BOOLEAN:
            return pc.if_else(pa.array(column.values), "true", "false")
        case ColumnType.TIMESTAMP:
            return _quoted(format_column(column))
        case ColumnType.DATE:
            return _quoted(format_date_column(column))
        case ColumnType.INTERVAL:
            return _seconds(column.values, whole=False)
        case ColumnType.STRING | ColumnType.NULL:
            return _string_values(column.values)
        case ColumnType.BINARY:
            return _quoted(base64_texts(column))
        case DecimalType():
            return number_texts(column)
        case _:
            return _nested_values(column)


def _nested_values(column: Column) -> pa.StringArray:
    """Objects and arrays, with NULL parts shown."""
    type_, nested = column.type, nested_of(column)
    if isinstance(type_, StructType):
        parts: list[Any] = []
        for at, (name, inner) in enumerate(type_.fields):
            parts.append(f"{'{' if at == 0 else ', '}{json_key(name)}: ")
            parts.append(json_values(column_of_inner(inner, field_of(nested, at))))
        return pc.binary_join_element_wise(*parts, "}", "")
    if isinstance(type_, MapType):
        entries = nested.flatten()
        keys = column_of_inner(type_.key, field_of(entries, 0))
        items = json_values(column_of_inner(type_.item, field_of(entries, 1)))
        texts = pc.binary_join_element_wise(_key_texts(keys), ": ", items, "")
        opening, close = "{", "}"
    else:
        assert isinstance(type_, ArrayType)
        texts = json_values(column_of_inner(type_.element, nested.flatten()))
        opening, close = "[", "]"
    joined = pc.binary_join(lists_of(offsets_of(nested), texts, None), ", ")
    return pc.binary_join_element_wise(opening, joined, close, "")


def _key_texts(keys: Column) -> pa.StringArray:
    """Keys of maps: text, or the text of what they are."""
    texts = json_values(keys)
    bare = pc.invert(pc.starts_with(texts, '"'))
    return pc.if_else(bare, _quoted(texts), texts)


def _string_values(texts: pa.StringArray) -> pa.StringArray:
    if pc.any(pc.match_substring_regex(texts, _MUST_BE_ESCAPED)).as_py():
        return text_of_text(texts, json_key)
    return _quoted(texts)


def _quoted(texts: Any) -> pa.StringArray:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _seconds(us: NDArray[np.int64], *, whole: bool) -> pa.StringArray:
    if whole and not (us % _SECOND_US).any():
        return pc.cast(pa.array(us // _SECOND_US), pa.string())
    texts = double_texts(us / _SECOND_US)
    if not whole:
        return texts
    wholes = pc.cast(pa.array(us // _SECOND_US), pa.string())
    return pc.if_else(pa.array(us % _SECOND_US == 0), wholes, texts)
