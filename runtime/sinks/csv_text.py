"""Columns as CSV fields, the way the CSV source reads them: NULL is an empty field, the empty string is `""`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.date_text import format_date_column
from cqc.runtime.columns.sortable_columns import base64_texts, number_texts
from cqc.runtime.columns.timestamp_text import format_column, format_iso
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.sinks.json_text import double_texts, json_rows, json_times, json_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

_MUST_BE_QUOTED = r'[",\r\n]|^$|^\s|\s$'


def csv_field(text: str) -> str:
    """One text as a field."""
    return fields_of_text(pa.array([text]))[0].as_py()  # type: ignore[no-any-return]  # pyarrow has no types


def csv_rows(names: Sequence[str], columns: Sequence[Column], count: int) -> pa.StringArray:
    """Each row as fields with commas between them."""
    if not names:
        return pa.repeat(pa.scalar(""), count)
    return pc.binary_join_element_wise(*map(csv_values, columns), ",")


def csv_json_rows(names: Sequence[str], columns: Sequence[Column], count: int) -> pa.StringArray:
    """Each row as one field that holds a JSON object."""
    return fields_of_text(json_rows(names, columns, count))


def csv_times(times_us: NDArray[np.int64], type_: ColumnType) -> pa.StringArray:
    """Result times as fields."""
    if type_ is not ColumnType.TIMESTAMP:
        texts = json_times(times_us, type_)
        return pc.if_else(pa.array(times_us == NO_TIME), "", texts)
    texts = format_iso(np.where(times_us == NO_TIME, 0, times_us))
    return pc.if_else(pa.array(times_us == NO_TIME), "", texts)


def csv_values(column: Column) -> pa.StringArray:
    """Each value as a field."""
    texts = _present_values(column)
    if column.valid is None:
        return texts
    return pc.if_else(pa.array(column.valid), texts, "")


def fields_of_text(texts: Any) -> pa.StringArray:
    """Texts as fields, quoted where they must be."""
    quote = pc.match_substring_regex(texts, _MUST_BE_QUOTED)
    if not pc.any(quote).as_py():
        return texts
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(quote, pc.binary_join_element_wise('"', doubled, '"', ""), texts)


def _present_values(column: Column) -> pa.StringArray:
    match column.type:
        case ColumnType.BIGINT:
            return pc.cast(pa.array(column.values), pa.string())
        case ColumnType.DOUBLE:
            return double_texts(column.values, quote="")
        case ColumnType.BOOLEAN:
            return pc.if_else(pa.array(column.values), "true", "false")
        case ColumnType.TIMESTAMP:
            return format_column(column)
        case ColumnType.DATE:
            return format_date_column(column)
        case ColumnType.INTERVAL:
            return double_texts(column.values / 1_000_000, quote="")
        case ColumnType.STRING | ColumnType.NULL:
            return fields_of_text(column.values)
        case ColumnType.BINARY:
            return fields_of_text(base64_texts(column))
        case DecimalType():
            return number_texts(column)
        case _:
            return fields_of_text(json_values(column))
