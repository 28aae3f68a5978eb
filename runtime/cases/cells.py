"""Cells of `.cqt` files as values of a type, and back for messages and `cqc test --update`."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from cqc.compiler.meaning.types import ArrayType, ColumnType, DecimalType, MapType, StructType

Value = Any  # int, float, str, bool, Decimal, bytes, list, dict or None

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND_US = 1_000_000


def read_value(cell: str, type_: ColumnType) -> Value:
    if cell == "NULL":
        return None
    match type_:
        case ColumnType.BIGINT:
            return int(cell)
        case ColumnType.DOUBLE:
            return float(cell)
        case ColumnType.BOOLEAN:
            return {"true": True, "false": False}[cell.lower()]
        case ColumnType.TIMESTAMP:
            return read_instant_us(cell)
        case ColumnType.DATE:
            return (date.fromisoformat(cell) - EPOCH.date()).days
        case DecimalType():
            return Decimal(cell)
        case ColumnType.BINARY:
            return base64.b64decode(cell)
        case ArrayType() | MapType() | StructType():
            return json.loads(cell)
        case _:
            return cell[1:-1].replace("''", "'") if cell.startswith("'") else cell


def read_instant_us(cell: str) -> int:
    """ISO text, or a time of day on 2024-01-01."""
    full = cell if "-" in cell else f"2024-01-01T{cell}"
    moment = datetime.fromisoformat(full)
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1)


def read_time_us(cell: str, type_: ColumnType) -> int:
    """A result time or instant: a timestamp, or a number of seconds."""
    if type_ is ColumnType.TIMESTAMP:
        return read_instant_us(cell)
    return round(float(cell) * SECOND_US)


def to_datetime(us: int) -> datetime:
    return EPOCH + timedelta(microseconds=us)


def from_datetime(moment: datetime) -> int:
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(microseconds=1)


DAY_US = 86_400 * SECOND_US
SHORT_DAY_US = 1_704_067_200 * SECOND_US  # 2024-01-01, whose times may be written without the date


def write_value(value: object, type_: ColumnType) -> str:
    """The cell that reads as this value."""
    if value is None:
        return "NULL"
    if type_ is ColumnType.TIMESTAMP and isinstance(value, int):
        return write_instant(value)
    if type_ is ColumnType.DATE and isinstance(value, int):
        return to_datetime(value * DAY_US).date().isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    text = str(value)
    needs_quotes = text in ("", "NULL") or text != text.strip() or "|" in text or text[0] in "'{#-="
    return "'" + text.replace("'", "''") + "'" if needs_quotes else text


def write_instant(us: int) -> str:
    moment = to_datetime(us)
    is_short = 0 <= us - SHORT_DAY_US < DAY_US
    if is_short:
        return moment.time().isoformat()
    return moment.replace(tzinfo=None).isoformat() + "Z"


def write_time(us: int, type_: ColumnType) -> str:
    """A result time: a timestamp, or a number of seconds."""
    if type_ is ColumnType.TIMESTAMP:
        return write_instant(us)
    return str(us // SECOND_US) if us % SECOND_US == 0 else repr(us / SECOND_US)


def read_json_value(value: object, type_: ColumnType) -> Value:
    """A value of a JSON object, as a line of a `.jsonl` file would be read."""
    if value is None:
        return None
    if type_ is ColumnType.STRING:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool) and type_ is ColumnType.BOOLEAN:
        return value
    if isinstance(value, int | float) and type_ is ColumnType.TIMESTAMP:
        return round(value * SECOND_US)
    if type_.is_nested:
        return value
    return read_value(str(value), type_)


def at_path(row: object, keys: tuple[str, ...]) -> object:
    """What is at a path of keys in a JSON object; None when it is not there."""
    for key in keys:
        if not isinstance(row, Mapping):
            return None
        found = [value for name, value in row.items() if name.lower() == key.lower()]
        row = row.get(key, found[0] if found else None)
    return row
