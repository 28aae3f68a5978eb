"""Timestamps as text, over whole columns.

Three spellings: what data may hold (ISO 8601, `cqc.compiler.meaning.times.instants` has the rules), what CAST reads (Spark's looser
form, down to a bare year), and what is written: ISO 8601 with `Z` in results, Spark's form with a space in CAST. The usual
shapes go through Arrow's parser; whatever it would read differently, or not at all, is read one distinct text at a time.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.times.instants import format_day, format_instant, parse_instant
from cqc.runtime.columns.bytes.instant_text import instant_texts
from cqc.runtime.columns.distinct_text import text_of_numbers, values_of_text
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.columns import Column

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_US = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
LAST_US = (datetime.max.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
_DAY_US = 86_400_000_000

_SHORT = re.compile(r"(\d{4})(?:-(\d{1,2}))?", re.ASCII)
_LOOSE = re.compile(
    r"""(\d{4}-\d{1,2}-\d{1,2})[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?
        \s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)?""",
    re.VERBOSE | re.ASCII,
)
_TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))


def parse_iso(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds of ISO texts (an Arrow array or scalar), and which are no timestamp."""
    return _parse(texts, parse_instant)


def parse_cast(texts: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Microseconds of texts as CAST reads them, and which it cannot read."""
    return _parse(texts, _cast_instant)


def format_iso(us: NDArray[np.int64]) -> Any:
    """ISO 8601 UTC with `Z`, microseconds only where non-zero."""
    if us.ndim == 0 or not _in_calendar(us):
        return text_of_numbers(us, format_instant)
    seconds, micros = np.divmod(us, 1_000_000)
    texts = pc.cast(pa.array(seconds, type=pa.int64()).cast(pa.timestamp("s")), pa.string())
    texts = pc.binary_replace_slice(texts, 10, 11, "T")
    if not micros.any():
        return pc.binary_join_element_wise(texts, "Z", "")
    fraction = pc.utf8_slice_codeunits(pc.cast(pa.array(micros + 1_000_000), pa.string()), 1, 7)
    tail = pc.binary_join_element_wise(".", fraction, "")
    tail = pc.if_else(pa.array(micros != 0), tail, "")
    return pc.binary_join_element_wise(texts, tail, "Z", "")


def format_column(column: Column) -> pa.StringArray:
    """The instants of a TIMESTAMP column in ISO 8601; at NULL positions any text."""
    us = column.values if column.valid is None else np.where(column.valid, column.values, 0)
    return format_iso(us)


def format_cast(us: NDArray[np.int64]) -> Any:
    """As CAST(... AS STRING) writes it: a space, and only the digits of the second that are needed."""
    if us.ndim == 0 or is_plain() or not _in_calendar(us):
        return text_of_numbers(us, _spark_text)
    return instant_texts(us)


def to_datetime(us: int) -> datetime | str:
    """A datetime in UTC; as text where the calendar has no such year."""
    if not FIRST_US <= us <= LAST_US:
        return format_instant(us)
    return EPOCH + timedelta(microseconds=us)


def to_date(days: int) -> date | str:
    """A date; as text where the calendar has no such year."""
    if not FIRST_US <= days * _DAY_US <= LAST_US:
        return format_day(days)
    return EPOCH.date() + timedelta(days=days)


def _in_calendar(us: NDArray[np.int64]) -> bool:
    return bool(len(us) == 0 or (us.min() >= FIRST_US and us.max() <= LAST_US))


def _spark_text(us: int) -> str:
    text = format_instant(us).removesuffix("Z").replace("T", " ")
    return text.rstrip("0") if "." in text else text


def _cast_instant(text: str) -> int | None:
    trimmed = text.strip(_TRIMMED)
    if short := _SHORT.fullmatch(trimmed):
        return parse_instant(f"{short[1]}-{short[2] or '01'}-01")
    if (loose := _LOOSE.fullmatch(trimmed)) is None:
        return parse_instant(trimmed) if len(trimmed) <= 10 else None
    day, hour, minute, second, fraction, zone = loose.groups()
    if zone and zone[0] in "+-" and len(zone) in (2, 5) and ":" in (zone + ":")[2]:
        zone = f"{zone[0]}0{zone[1:]}"
    clock = f"{hour}:{int(minute or 0):02d}:{int(second or 0):02d}.{fraction or '0'}"
    return parse_instant(f"{day}T{clock}{zone or ''}")


def _parse(
    texts: Any, one_by_one: Callable[[str], int | None]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    if not isinstance(texts, pa.Scalar):
        usual = _parse_usual(texts)
        if usual is not None:
            return usual, np.zeros(len(texts), dtype=np.bool_)
    return values_of_text(texts, one_by_one, 0, np.int64)


def _parse_usual(texts: pa.StringArray) -> NDArray[np.int64] | None:
    """The whole array by Arrow, or None where it holds anything unusual."""
    if len(texts) == texts.null_count:
        return np.zeros(len(texts), dtype=np.int64)
    present = texts.drop_null() if texts.null_count else texts
    zone = _shape(present)
    if zone is None:
        return None
    try:
        parsed = pc.cast(texts, pa.timestamp("us", tz="UTC") if zone else pa.timestamp("us"))
    except pa.ArrowInvalid:
        return None
    us: NDArray[np.int64] = pc.fill_null(pc.cast(parsed, pa.int64()), 0).to_numpy()
    # Arrow knows a year 0, the language does not; a zone can shift a time by most of a day.
    return us if us.min() >= FIRST_US + _DAY_US else None


def _shape(texts: pa.StringArray) -> bool | None:
    """Whether all texts have a zone (True) or none (False); None for shapes that Arrow may read differently."""
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[
        texts.offset : texts.offset + len(texts) + 1
    ].astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"", dtype=np.uint8)
    lengths = np.diff(offsets)
    starts, ends = offsets[:-1], offsets[1:]
    if lengths.min() < 16 or (data[starts + 13] != ord(":")).any():
        return False if (lengths == 10).all() else None
    last = data[ends - 1]
    if (last == ord("Z")).all():
        return True
    signs = data[ends - 6]
    if ((signs == ord("+")) | (signs == ord("-"))).all():
        tens, ones = data[ends - 5] - ord("0"), data[ends - 4] - ord("0")
        return True if (tens.astype(np.int64) * 10 + ones <= 18).all() else None
    return False
