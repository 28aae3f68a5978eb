"""to_json and from_json: nested values as JSON text and back, each distinct value once."""

from __future__ import annotations

import base64
import json
import math
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType, StructType
from cqc.runtime.columns.bytes.byte_columns import bytes_of
from cqc.runtime.columns.bytes.json_paths import NOTHING, NUMBER, TEXT, TRUTH, values_at
from cqc.runtime.columns.columns import Column, null_column, text_column
from cqc.runtime.columns.convert.arrow_out import to_objects
from cqc.runtime.columns.convert.nested_values import nested_of_values
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.convert.reading import Reading
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    inner_of_column,
    inner_type,
    nested_of,
    structs_of,
)
from cqc.runtime.columns.number_text import java_text
from cqc.runtime.expressions.nested.spread import spread
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel

_ESCAPED = r'["\\\x00-\x1f]'
_IS_ESCAPED = np.zeros(256, np.bool_)
_IS_ESCAPED[[*range(32), *b'"\\']] = True
_FLAT = (ColumnType.STRING, ColumnType.BIGINT, ColumnType.BOOLEAN)
_STRICT = Reading(lenient=False)


def _to_json(nodes: list[Node], type_: ColumnType) -> Node:
    (operand,) = nodes

    def node(frame: Frame) -> Column:
        column = spread(operand(frame), frame.rows)
        if _is_flat(column.type):
            return text_column(_flat_texts(column.type, nested_of(column)))
        coded = column.values.dictionary_encode()
        distinct = to_objects(Column(column.type, coded.dictionary))
        texts = pa.array([_json(each, column.type) for each in distinct], pa.string())
        return text_column(texts.take(coded.indices))

    return node


def _is_flat(type_: ColumnType) -> TypeGuard[StructType]:
    """Whether it is a struct of texts, whole numbers and truth values alone, each with a name of its own."""
    if not isinstance(type_, StructType) or not type_.fields:
        return False
    names = {name for name, _ in type_.fields}
    return len(names) == len(type_.fields) and all(inner in _FLAT for _, inner in type_.fields)


def _flat_texts(type_: StructType, structs: Any) -> pa.StringArray:
    """Such structs by whole columns."""
    parts = []
    for at, (name, inner) in enumerate(type_.fields):
        values = field_of(structs, at)
        shown = _quoted(values) if inner is ColumnType.STRING else pc.cast(values, pa.string())
        parts.append((f"{_text(name)}:", shown))
    if any(shown.null_count for _, shown in parts):  # fields that are NULL are left out
        there = [
            pc.fill_null(pc.binary_join_element_wise(f",{name}", shown, ""), "")
            for name, shown in parts
        ]
        inside = pc.binary_join_element_wise(*there, "}", "")
        first = pc.match_substring_regex(inside, "^,")
        texts = pc.if_else(
            first, pc.binary_replace_slice(inside, 0, 1, "{"), pa.scalar("{}", pa.string())
        )
    else:
        pieces = [
            piece
            for at, (name, shown) in enumerate(parts)
            for piece in (("," if at else "{") + name, shown)
        ]
        texts = pc.binary_join_element_wise(*pieces, "}", "")
    if structs.null_count:
        texts = pc.if_else(structs.is_valid(), texts, pa.scalar(None, pa.string()))
    return texts


def _quoted(texts: pa.StringArray) -> pa.StringArray:
    """Texts in quotation marks; Python is asked about those with something to escape."""
    quoted = pc.binary_join_element_wise('"', texts, '"', "")
    if not _IS_ESCAPED[bytes_of(texts)[0]].any():
        return quoted
    marked = pc.fill_null(pc.match_substring_regex(texts, _ESCAPED), False)
    if not pc.any(marked).as_py():
        return quoted
    escaped = [_text(text) for text in texts.filter(marked).to_pylist()]
    return pc.replace_with_mask(quoted, marked, pa.array(escaped, pa.string()))


def _json(value: Any, type_: ColumnType) -> str:
    """As Spark writes it: no white space, fields of structs that are NULL left out."""
    if value is None:
        return "null"
    if isinstance(type_, StructType):
        inner = dict(type_.fields)
        there = [(name, each) for name, each in value.items() if each is not None]
        return (
            f"{{{','.join(f'{_text(name)}:{_json(each, inner[name])}' for name, each in there)}}}"
        )
    if isinstance(type_, MapType):
        parts = [f"{_key(key)}:{_json(each, type_.item)}" for key, each in value.items()]
        return f"{{{','.join(parts)}}}"
    if isinstance(type_, ArrayType):
        return f"[{','.join(_json(each, type_.element) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_text(value) if math.isfinite(value) else f'"{java_text(value)}"'
    if isinstance(value, datetime):
        fraction = f"{value.microsecond:06d}"
        shown = fraction[:3] if fraction.endswith("000") else fraction
        return f'"{value:%Y-%m-%dT%H:%M:%S}.{shown}Z"'
    if isinstance(value, date):
        return f'"{value.isoformat()}"'
    if isinstance(value, bytes):
        return f'"{base64.b64encode(value).decode()}"'
    return f"{value:f}" if isinstance(value, Decimal) else _text(value)


def _key(value: Any) -> str:
    return _text(value if isinstance(value, str) else str(value))


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)


def _from_json(nodes: list[Node], type_: ColumnType) -> Node:
    operand = nodes[0]

    def node(frame: Frame) -> Column:
        texts = spread(operand(frame), frame.rows).values
        if not _is_simple(type_) or is_plain() or not frame.rows:
            return column_of_inner(type_, _each_parsed(type_, texts))
        made, left = _flat_structs(type_, texts)
        if left.any():
            slow = _each_parsed(type_, texts.filter(pa.array(left)))
            places = np.arange(frame.rows)
            places[left] = frame.rows + np.arange(len(slow))
            made = pa.concat_arrays([made, slow.cast(made.type)]).take(pa.array(places))
        return column_of_inner(type_, made)

    return node


def _each_parsed(type_: ColumnType, texts: Any) -> Any:
    """Values by Python's parser, once for each distinct text."""
    coded = texts.dictionary_encode()
    if not len(coded.dictionary):
        return nested_of(null_column(type_, len(texts)))
    values = [_parsed(text, type_) for text in coded.dictionary.to_pylist()]
    made, _ = _fitting(type_, values, _STRICT)
    return nested_of(made).take(coded.indices)


_BY_COLUMN = {
    ColumnType.STRING: TEXT,
    ColumnType.BIGINT: NUMBER,
    ColumnType.DOUBLE: NUMBER,
    ColumnType.BOOLEAN: TRUTH,
}
_MOST_DIGITS = 18  # that every BIGINT of so many has room for


def _flat_structs(type_: StructType, texts: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Structs of simple fields, a column after the other, and which rows are left: where a text or a value is unusual, or NULL."""
    left = texts.is_null().to_numpy(zero_copy_only=False)
    parts = []
    for name, inner in type_.fields:
        is_real = inner is ColumnType.DOUBLE
        found, outcome = values_at(texts, [name], strict=True, as_written=is_real)
        there = outcome == _BY_COLUMN[inner]
        left |= ~there & (outcome != NOTHING)
        if inner is ColumnType.BIGINT:
            long = pc.greater(pc.binary_length(found), _MOST_DIGITS)
            left |= there & long.to_numpy(zero_copy_only=False)
        if is_real:  # written without a point it is a whole number, which has no sign at zero
            left |= pc.equal(found, "-0").to_numpy(zero_copy_only=False)
        keep = there & ~left
        masked = pc.if_else(pa.array(keep), found, pa.scalar(None, pa.string()))
        parts.append(masked if inner is ColumnType.STRING else pc.cast(masked, inner_type(inner)))
    return structs_of(parts, [f"{at}" for at in range(len(parts))], None), left


def _is_simple(type_: ColumnType) -> TypeGuard[StructType]:
    return isinstance(type_, StructType) and all(inner in _BY_COLUMN for _, inner in type_.fields)


def _parsed(text: str, type_: ColumnType) -> Any:
    """The value that a text says; nothing inside where it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {} if isinstance(type_, StructType) and text.strip() else None


def _fitting(
    type_: ColumnType, values: Sequence[Any], reading: Reading
) -> tuple[Column, NDArray[np.bool_] | None]:
    """A column of values, with NULL where one does not fit."""
    if type_.is_nested:
        column, bad = nested_of_values(type_, values, reading, _fitting)
    elif type_ is ColumnType.STRING:
        column, bad = column_of_values(type_, [_as_text(each) for each in values], reading)
    else:
        column, bad = column_of_values(type_, values, reading)
    if bad is None:
        return column, None
    places = pa.array(np.arange(len(bad)), mask=bad)
    return column_of_inner(type_, inner_of_column(column).take(places)), None


def _as_text(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {}

NODES: dict[str, NodeMaker] = {"to_json": _to_json, "from_json": _from_json}
