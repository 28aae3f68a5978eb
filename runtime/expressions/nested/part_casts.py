"""CAST of DECIMAL, BINARY and nested values: the latter part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.nested import (
    column_of_inner,
    field_of,
    inner_of_column,
    lists_of,
    nested_column,
    nested_of,
    offsets_of,
    parts_type,
    structs_of,
)
from cqc.runtime.columns.sortable_columns import (
    bytes_of_hex,
    decimal_column,
    decimal_digits,
    decimals_of_texts,
    digits_of,
    divided,
    hex_of_bytes,
    number_texts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Made = tuple[Column, NDArray[np.bool_] | None]
    Cast = Callable[[Column, ColumnType], Made]

_BIGINT, _DOUBLE, _STRING = ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING


def cast_parts(column: Column, target: ColumnType, cast: Cast) -> Made | None:
    """The column as another type, and where a value has no counterpart; None for pairs of types that have no cast."""
    if isinstance(column.values, pa.Scalar) or (
        not isinstance(column.values, pa.Array) and np.ndim(column.values) == 0
    ):
        return _constant(column, target, cast)
    given = column.type
    if isinstance(given, DecimalType):
        return _from_decimal(given, column, target)
    if isinstance(target, DecimalType):
        return _to_decimal(column, target)
    if given is ColumnType.BINARY and target is _STRING:
        texts = [
            None if each is None else each.decode(errors="replace") for each in _octets(column)
        ]
        return text_column(pa.array(texts, pa.string())), None
    if given is _STRING and target is ColumnType.BINARY:
        return Column(target, hex_of_bytes(column.values, column.valid), column.valid), None
    if not given.is_nested:
        return None
    if target is _STRING:
        return text_column(_shown(column, cast)), None
    return _nested(column, target, cast)


def _octets(column: Column) -> list[bytes | None]:
    made = bytes_of_hex(column.values).to_pylist()
    if column.valid is None:
        return list(made)
    return [each if ok else None for each, ok in zip(made, column.valid.tolist(), strict=True)]


def _constant(column: Column, target: ColumnType, cast: Cast) -> Made | None:
    """The same of a constant."""
    known = column.valid is None or bool(np.all(column.valid))
    if not known:
        value: Any = (
            pa.nulls(1, pa.string())
            if column.type.held_as_text
            else np.zeros(1, column.values.dtype)
        )
        one = Column(column.type, value, np.zeros(1, np.bool_))
    elif column.type.held_as_text:
        one = Column(column.type, pa.array([column.values.as_py()], pa.string()))
    else:
        one = Column(column.type, np.asarray(column.values).reshape(1))
    made = cast_parts(one, target, cast)
    if made is None:
        return None
    result, failed = made
    valid = None if result.valid is None else np.asarray(result.valid[0])
    if target.held_as_text:
        single = Column(target, result.values[0], valid)
    else:
        single = Column(target, np.asarray(result.values[0]), valid)
    return single, None if failed is None else np.asarray(failed[0])


def _from_decimal(given: DecimalType, column: Column, target: ColumnType) -> Made | None:
    digits = digits_of(column)
    if isinstance(target, DecimalType):
        return rescaled(digits, given.scale, target, column.valid)
    if target is _STRING:
        texts = number_texts(column)
        if column.valid is not None:
            texts = pc.if_else(pa.array(column.valid), texts, pa.scalar(None, pa.string()))
        return text_column(texts), None
    power = 10**given.scale
    if target is ColumnType.BOOLEAN:
        return Column(target, np.asarray(digits != 0, np.bool_), column.valid), None
    if target is _DOUBLE:
        doubles = [int(each) / power for each in digits.tolist()]
        return Column(target, np.array(doubles, np.float64), column.valid), None
    if target is _BIGINT:
        whole = [_towards_zero(int(each), power) for each in digits.tolist()]
        fits = np.array([-(2**63) <= each < 2**63 for each in whole], np.bool_)
        values = np.array(
            [each if ok else 0 for each, ok in zip(whole, fits.tolist(), strict=True)], np.int64
        )
        return Column(target, values, column.valid), None if fits.all() else ~fits
    return None


def _towards_zero(number: int, power: int) -> int:
    return number // power if number >= 0 else -(-number // power)


def rescaled(
    digits: NDArray[Any], scale: int, target: DecimalType, valid: NDArray[np.bool_] | None
) -> Made:
    """Digits of one scale as a DECIMAL of another, rounded half up; those with too many digits fail."""
    shift = target.scale - scale
    if shift == 0 and digits.dtype != object and target.digits > 18:
        return decimal_column(target, digits, valid), None
    if shift >= 0:
        power = 10**shift
        moved = [int(each) * power for each in digits.tolist()]
    else:
        power = 10**-shift
        moved = [divided(int(each), power) for each in digits.tolist()]
    fits = np.array([abs(each) < 10**target.digits for each in moved], np.bool_)
    values = np.array(
        [each if ok else 0 for each, ok in zip(moved, fits.tolist(), strict=True)], object
    )
    return decimal_column(target, values, valid), None if fits.all() else ~fits


def _to_decimal(column: Column, target: DecimalType) -> Made | None:
    if column.type in (_BIGINT, ColumnType.BOOLEAN):
        return rescaled(column.values.astype(np.int64), 0, target, column.valid)
    if column.type is _STRING:
        return decimals_of_texts(target, column.values)
    if column.type is not _DOUBLE:
        return None
    made = [decimal_digits(repr(each), target) for each in column.values.tolist()]
    failed = np.array([each is None for each in made], np.bool_)
    digits = np.array([0 if each is None else each for each in made], object)
    return decimal_column(target, digits, column.valid), failed if failed.any() else None


def _nested(column: Column, target: ColumnType, cast: Cast) -> Made | None:
    given, nested = column.type, nested_of(column)
    if isinstance(given, StructType) and isinstance(target, StructType):
        failed = np.zeros(len(nested), np.bool_)
        parts = []
        for at, ((_, one), (_, other)) in enumerate(zip(given.fields, target.fields, strict=True)):
            made, wrong = _known_cast(column_of_inner(one, field_of(nested, at)), other, cast)
            parts.append(inner_of_column(made))
            failed |= wrong
        names = [str(at) for at in range(len(parts))]
        return nested_column(target, structs_of(parts, names, column.valid)), failed
    if isinstance(given, ArrayType) and isinstance(target, ArrayType):
        one, other = given.element, target.element
    elif isinstance(given, MapType) and isinstance(target, MapType):
        one, other = parts_type(given), parts_type(target)
    else:
        return None
    made, wrong = _known_cast(column_of_inner(one, nested.flatten()), other, cast)
    offsets = offsets_of(nested)
    before = np.concatenate([[0], np.cumsum(wrong)])
    failed = np.asarray(before[offsets[1:]] > before[offsets[:-1]])
    return nested_column(target, lists_of(offsets, inner_of_column(made), column.valid)), failed


def _known_cast(column: Column, target: ColumnType, cast: Cast) -> tuple[Column, NDArray[np.bool_]]:
    made, failed = cast(column, target) if column.type is not target else (column, None)
    if failed is None:
        return made, np.zeros(len(column), np.bool_)
    return made, failed if column.valid is None else failed & column.valid


def _shown(column: Column, cast: Cast) -> Any:
    """As Spark writes them: `[1, null]`, `{k -> v}`, `{1, x}`."""
    type_, nested = column.type, nested_of(column)
    if isinstance(type_, StructType):
        parts: list[Any] = ["{"]
        for at, (_, inner) in enumerate(type_.fields):
            parts += [", "] if at else []
            parts.append(_part(column_of_inner(inner, field_of(nested, at)), cast))
        texts = pc.binary_join_element_wise(*parts, "}", "")
    elif isinstance(type_, MapType):
        entries = nested.flatten()
        keys = _part(column_of_inner(type_.key, field_of(entries, 0)), cast)
        items = _part(column_of_inner(type_.item, field_of(entries, 1)), cast)
        inner_texts = pc.binary_join_element_wise(keys, " -> ", items, "")
        joined = pc.binary_join(lists_of(offsets_of(nested), inner_texts, None), ", ")
        texts = pc.binary_join_element_wise("{", joined, "}", "")
    else:
        assert isinstance(type_, ArrayType)
        inner_texts = _part(column_of_inner(type_.element, nested.flatten()), cast)
        joined = pc.binary_join(lists_of(offsets_of(nested), inner_texts, None), ", ")
        texts = pc.binary_join_element_wise("[", joined, "]", "")
    if column.valid is None:
        return texts
    return pc.if_else(pa.array(column.valid), texts, pa.scalar(None, pa.string()))


def _part(column: Column, cast: Cast) -> Any:
    made = column if column.type is _STRING else cast(column, _STRING)[0]
    return made.values.fill_null("null")
