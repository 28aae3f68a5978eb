"""Arrays, maps and structs by column.

A nested column holds an Arrow array with the values (`nested`). Where the engine keeps, hashes, groups or moves values as text, `values`
is a text for each: made when it is first asked for, and equal where values are. `nested_of` has the Arrow array of any such column.

Arrow's array has its parts as columns have them: int64 for whole numbers, instants and dates, text for DECIMAL and BINARY
(`sortable_columns.py`), a map is a list of structs of key and value.

    STRUCT<a: BIGINT, b: ARRAY<STRING>>   {"a": 1, "b": ["x", null]}   is the text   {"0":1,"1":["x",null]}
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from cqc.compiler.meaning.types import ArrayType, ColumnType, MapType, StructType
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.columns.distinct_text import text_of_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ESCAPED = r'["\\\x00-\x1f]'
_KEY, _ITEM = "0", "1"


class NestedColumn(Column):
    """A column of arrays, maps or structs by its Arrow array."""

    __slots__ = ("_coded", "nested")

    def __init__(self, type_: ColumnType, nested: Any, valid: NDArray[np.bool_] | None) -> None:
        self.type = type_
        self.valid = valid
        self.nested = nested
        self._coded: Any = None

    def __len__(self) -> int:
        return len(self.nested)

    def __reduce__(self) -> tuple[type[NestedColumn], tuple[Any, ...]]:
        return NestedColumn, (self.type, self.nested, self.valid)

    @property
    def values(self) -> Any:
        """A text for each value, made when it is first asked for."""
        if self._coded is None:
            self._coded = encoded(self.type, self.nested)
        return self._coded

    @property
    def nbytes(self) -> int:
        """About how much memory it takes."""
        mask = 0 if self.valid is None else self.valid.nbytes
        return int(self.nested.nbytes) + mask

    def taken(self, positions: Any) -> NestedColumn:
        """Some rows, by positions, a mask or a slice."""
        valid = None if self.valid is None else self.valid[positions]
        if isinstance(positions, slice):
            start, stop, _ = positions.indices(len(self.nested))
            return NestedColumn(self.type, self.nested.slice(start, max(stop - start, 0)), valid)
        if positions.dtype == np.bool_:
            return NestedColumn(self.type, self.nested.filter(pa.array(positions)), valid)
        return NestedColumn(self.type, self.nested.take(pa.array(positions)), valid)


def inner_type(type_: ColumnType) -> pa.DataType:
    """The Arrow type of values of a type inside others."""
    if isinstance(type_, ArrayType):
        return pa.list_(inner_type(type_.element))
    if isinstance(type_, MapType):
        return pa.list_(pa.struct([(_KEY, inner_type(type_.key)), (_ITEM, inner_type(type_.item))]))
    if isinstance(type_, StructType):
        return pa.struct(
            [(f"{at}", inner_type(inner)) for at, (_, inner) in enumerate(type_.fields)]
        )
    if type_.held_as_text:
        return pa.string()
    return pa.from_numpy_dtype(DTYPES[type_])


def parts_type(type_: MapType) -> StructType:
    """The type of the entries of a map."""
    return StructType((("key", type_.key), ("value", type_.item)))


def nested_column(type_: ColumnType, nested: Any) -> Column:
    """A column of an Arrow array whose parts are as columns have them."""
    valid = None
    if nested.null_count:
        valid = nested.is_valid().to_numpy(zero_copy_only=False)
    return NestedColumn(type_, nested, valid)


def nested_of(column: Column) -> Any:
    """The Arrow array of a column of arrays, maps or structs."""
    if isinstance(column, NestedColumn):
        return column.nested
    return decoded(column.type, column.values)


def column_of_inner(type_: ColumnType, array: Any) -> Column:
    """Values inside others as a column."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if type_.is_nested:
        return nested_column(type_, array)
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    if type_.held_as_text:
        return Column(type_, array, valid)
    if valid is not None:
        array = array.fill_null(False if type_ is ColumnType.BOOLEAN else 0)
    return Column(type_, array.to_numpy(zero_copy_only=False), valid)


def inner_of_column(column: Column) -> Any:
    """A column as values inside others."""
    if column.type.is_nested:
        return nested_of(column)
    if column.type.held_as_text:
        return column.values
    missing = None if column.valid is None else ~column.valid
    return pa.array(column.values, type=inner_type(column.type), mask=missing, from_pandas=False)


def flat_of(lists: Any) -> Any:
    """The elements of all lists; those of a NULL belong to nobody."""
    if not len(lists) or lists.null_count:
        return lists.flatten()
    first, last = lists.offsets[0].as_py(), lists.offsets[-1].as_py()
    return lists.values.slice(first, last - first)


def offsets_of(lists: Any) -> NDArray[np.int64]:
    """Where the elements of each list begin among those of `flat_of`, and where the last ends."""
    if len(lists) and not lists.null_count:
        held: NDArray[np.int64] = lists.offsets.to_numpy().astype(np.int64)
        held -= int(held[0])
        return held
    lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def lists_of(offsets: NDArray[np.int64], values: Any, valid: NDArray[np.bool_] | None) -> Any:
    """Lists of the values between offsets, NULL where not valid (an empty stretch)."""
    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=mask)


def structs_of(arrays: list[Any], names: list[str], valid: NDArray[np.bool_] | None) -> Any:
    """Structs of values beside each other, NULL where not valid."""
    mask = None if valid is None or valid.all() else pa.array(~valid)
    return pa.StructArray.from_arrays(arrays, names=names, mask=mask)


def field_of(structs: Any, at: int) -> Any:
    """The values of a field; NULL where the struct is."""
    return pc.struct_field(structs, [at])


# Values as texts


def encoded(type_: ColumnType, array: Any) -> pa.StringArray:
    """A text for each value, NULL where it is."""
    texts = _texts_of(type_, array)
    if array.null_count:
        texts = pc.if_else(array.is_valid(), texts, pa.scalar(None, pa.string()))
    return texts


def _texts_of(type_: ColumnType, array: Any) -> Any:
    """The same with `null` in the place of NULL."""
    if isinstance(type_, ArrayType):
        texts = _lists(type_.element, array)
    elif isinstance(type_, MapType):
        texts = _lists(parts_type(type_), array)
    elif isinstance(type_, StructType):
        parts: list[Any] = []
        for at, (_, inner) in enumerate(type_.fields):
            parts.append(f'{"{" if at == 0 else ","}"{array.type[at].name}":')
            parts.append(_texts_of(inner, field_of(array, at)))
        texts = pc.binary_join_element_wise(*parts, "}", "")
    elif type_.held_as_text:
        texts = _quoted(array)
    elif type_ is ColumnType.DOUBLE:
        bits = column_of_inner(type_, array).values.view(np.int64)
        texts = pc.cast(pa.array(bits), pa.string())
    else:
        texts = pc.cast(array, pa.string())
    return pc.if_else(array.is_valid(), texts, "null") if array.null_count else texts


def _lists(element: ColumnType, array: Any) -> Any:
    inner = _texts_of(element, flat_of(array))
    joined = pc.binary_join(lists_of(offsets_of(array), inner, None), ",")
    return pc.binary_join_element_wise("[", joined, "]", "")


def _quoted(texts: Any) -> Any:
    filled = texts.fill_null("")
    if pc.any(pc.match_substring_regex(filled, _ESCAPED)).as_py():
        return text_of_text(filled, lambda text: json.dumps(text, ensure_ascii=False))
    return pc.binary_join_element_wise('"', filled, '"', "")


def decoded(type_: ColumnType, texts: Any) -> Any:
    """The Arrow array that `encoded` made texts of."""
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if not len(texts):
        return pa.array([], inner_type(type_))
    coded = _coded_type(type_)
    made = read_json(texts.fill_null("null"), coded)
    assert made is not None, "texts that were not made by `encoded`"
    return _from_coded(type_, made)


def read_json(texts: Any, arrow_type: pa.DataType, *, others: str = "error") -> Any | None:
    """Values of one type from a JSON text each, none of which has a line end; None where a text is something else."""
    lines = pc.binary_join_element_wise('{"v":', texts, "}\n", "")
    whole = pc.binary_join(
        pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines), ""
    )[0].as_buffer()
    options = pa_json.ReadOptions(use_threads=False, block_size=max(whole.size + 1, 64))
    parse = pa_json.ParseOptions(
        explicit_schema=pa.schema([("v", arrow_type)]), unexpected_field_behavior=others
    )
    try:
        table = pa_json.read_json(io.BytesIO(whole), options, parse)
    except pa.ArrowInvalid:
        return None
    if table.num_rows != len(texts):
        return None
    found = table.column("v").combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def _coded_type(type_: ColumnType) -> pa.DataType:
    """As `inner_type`, with doubles as the numbers that their bits are: JSON has no NaN."""
    if isinstance(type_, ArrayType):
        return pa.list_(_coded_type(type_.element))
    if isinstance(type_, MapType):
        return pa.list_(
            pa.struct([(_KEY, _coded_type(type_.key)), (_ITEM, _coded_type(type_.item))])
        )
    if isinstance(type_, StructType):
        fields = [(f"{at}", _coded_type(inner)) for at, (_, inner) in enumerate(type_.fields)]
        return pa.struct(fields)
    return pa.int64() if type_ is ColumnType.DOUBLE else inner_type(type_)


def _from_coded(type_: ColumnType, array: Any) -> Any:
    if isinstance(type_, ArrayType | MapType):
        inner = type_.element if isinstance(type_, ArrayType) else parts_type(type_)
        values = _from_coded(inner, flat_of(array))
        return lists_of(offsets_of(array), values, _validity(array))
    if isinstance(type_, StructType):
        names = [field.name for field in array.type]
        parts = [
            _from_coded(inner, field_of(array, at)) for at, (_, inner) in enumerate(type_.fields)
        ]
        return structs_of(parts, names, _validity(array))
    if type_ is ColumnType.DOUBLE:
        bits = array.fill_null(0).to_numpy(zero_copy_only=False)
        valid = _validity(array)
        missing = None if valid is None else ~valid
        return pa.array(bits.view(np.float64), mask=missing, from_pandas=False)
    return array


def _validity(array: Any) -> NDArray[np.bool_] | None:
    if not array.null_count:
        return None
    valid: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return valid
