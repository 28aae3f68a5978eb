"""The values of a result line with all their digits: a DECIMAL is a Decimal, and nested ones stay JSON text of the same numbers.

Python reads every number with a point as a float, which has some sixteen digits. So where a column may hold others its line is read
with decimals, and what is declared DOUBLE becomes a float afterwards.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.receivers.receiver import Sent

_PLAIN = frozenset({"BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "INTERVAL", "DATE"})
_DECODER = json.JSONDecoder()


def exact_value(result: Sent) -> dict[str, Any]:
    """The line as Python values; numbers with a point are decimals where floats might lose digits of them."""
    if _PLAIN.issuperset(result.columns.types) and '"alert": {' not in result.line:
        return result.value()
    read: dict[str, Any] = json.loads(result.line, parse_float=Decimal)
    return read


def cells_of(result: Sent, value: Mapping[str, Any]) -> list[Any]:
    """The cells of a row, each of the Python type that its column's type has; nested ones are JSON text."""
    row = value["row"]
    return [
        _cell(row[name], kind)
        for name, kind in zip(result.columns.names, result.columns.types, strict=True)
    ]


def _cell(cell: Any, kind: str) -> Any:
    if cell is None:
        return None
    if kind in ("DOUBLE", "INTERVAL"):
        return float(cell)  # NaN and the infinities are texts
    if kind.startswith("DECIMAL"):
        return Decimal(cell)
    return json_text(cell) if isinstance(cell, dict | list) else cell


def json_text(value: Any) -> str:
    """A value as JSON, decimals with all their digits."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            inside = (
                f"{json.dumps(name, ensure_ascii=False)}: {json_text(each)}"
                for name, each in value.items()
            )
            return f"{{{', '.join(inside)}}}"
        case list():
            return f"[{', '.join(map(json_text, value))}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def row_text(result: Sent) -> str:
    """The row of a line, as it stands there."""
    line, at = result.line, 1
    while True:
        name, end = _DECODER.raw_decode(line, at)
        begin = end + len(": ")
        _, end = _DECODER.raw_decode(line, begin)
        if name == "row":
            return line[begin:end]
        at = end + len(", ")
