"""Values as canonical JSON (RFC 8785), by column: what the id of a result is the hash of.

Two systems that read the same result get the same text: names in the order of their UTF-16 units, no white space, numbers as JavaScript
writes them. BIGINT, which JavaScript cannot hold, is written as text; so are NaN and the infinities, which JSON has not.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.deliver.results import NO_TIME
from cqc.runtime.sinks.json_text import json_times, json_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

_SECOND_US = 1_000_000
_DECIMALS_BELOW = 1e21  # JavaScript writes larger numbers with an exponent
_SMALLEST_DECIMAL = 1e-6


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


def canonical_rows(names: Sequence[str], columns: Sequence[Column], count: int) -> pa.StringArray:
    """Each row as a canonical JSON object."""
    if not names:
        return pa.repeat(pa.scalar("{}"), count)
    order = sorted(range(len(names)), key=lambda at: names[at].encode("utf-16-be"))
    parts: list[Any] = []
    for place, at in enumerate(order):
        parts.append(f"{'{' if place == 0 else ','}{canonical_text(names[at])}:")
        parts.append(canonical_values(columns[at]))
    return pc.binary_join_element_wise(*parts, "}", "")


def canonical_values(column: Column) -> pa.StringArray:
    """Each value as canonical JSON; NULL is `null`."""
    match column.type:
        case ColumnType.BIGINT:
            texts = pc.cast(pa.array(column.values), pa.string())
            present = pc.binary_join_element_wise('"', texts, '"', "")
        case ColumnType.DOUBLE:
            present = _numbers(column.values)
        case ColumnType.INTERVAL:
            present = _numbers(column.values / _SECOND_US)
        case ColumnType.STRING:
            present = pa.array([canonical_text(text or "") for text in column.values.to_pylist()])
        case _:
            return json_values(column)
    if column.valid is None:
        return present
    return pc.if_else(pa.array(column.valid), present, "null")


def canonical_times(times_us: NDArray[np.int64], type_: ColumnType) -> pa.StringArray:
    """Result times: as in the result's line, numbers as the values of their type are."""
    if type_ is ColumnType.TIMESTAMP:
        return json_times(times_us, type_)
    texts = [
        "null"
        if us == NO_TIME
        else f'"{us // _SECOND_US}"'
        if type_ is ColumnType.BIGINT and us % _SECOND_US == 0
        else canonical_number(us / _SECOND_US)
        for us in times_us.tolist()
    ]
    return pa.array(texts, pa.string())


def _numbers(values: NDArray[np.float64]) -> pa.StringArray:
    """Each distinct number is written once."""
    distinct, at = np.unique(values, return_inverse=True)
    texts = pa.array([canonical_number(value) for value in distinct.tolist()], pa.string())
    return texts.take(pa.array(at.reshape(-1)))
