"""Cells of `.cqt` files as values of a type, and back for messages."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from cqc.compiler.meaning.types import ColumnType

Value = int | float | str | bool | None

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
