"""Numbers and truth values as text, over whole columns.

What is a number is decided by two patterns here, nothing else: Arrow's parsers are used where every byte of a column is
one they and the patterns agree on. Data is read more strictly than CAST reads text, which follows Spark and Java (`1d` is a
DOUBLE there, `yes` is TRUE, control characters around a value do not count).
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.bytes.double_text import double_texts
from cqc.runtime.columns.distinct_text import text_of_numbers, values_of_text
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

Parsed = tuple["NDArray[Any]", "NDArray[np.bool_]"]

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_TRUE_WORDS = {"t", "true", "y", "yes", "1"}
_FALSE_WORDS = {"f", "false", "n", "no", "0"}
_TRIMMED = "".join(map(chr, [*range(0x21), 0x7F]))  # around a value in CAST
_BLANK = " \t"  # around a value in data


def parse_bigint(texts: Any, *, cast: bool = False) -> Parsed:
    """BIGINT of texts (an Arrow array or scalar), and which are none."""
    usual = _by_arrow(texts, pa.int64(), _BIGINT_BYTES)
    if usual is not None:
        return usual
    trimmed = _TRIMMED if cast else _BLANK
    return values_of_text(texts, lambda text: bigint_of(text.strip(trimmed)), 0, np.int64)


def parse_double(texts: Any, *, cast: bool = False) -> Parsed:
    """DOUBLE of texts, and which are none."""
    usual = _by_arrow(texts, pa.float64(), _DOUBLE_BYTES)
    if usual is not None:
        return usual
    one: Callable[[str], float | None] = _cast_double if cast else _data_double
    return values_of_text(texts, one, 0.0, np.float64)


def parse_boolean(texts: Any, *, cast: bool = False) -> Parsed:
    """BOOLEAN of texts, and which are none."""
    one: Callable[[str], bool | None] = _cast_boolean if cast else _data_boolean
    return values_of_text(texts, one, False, np.bool_)


def format_double(values: NDArray[np.float64]) -> Any:
    """DOUBLE as CAST writes it: as Java does."""
    if values.ndim == 0 or is_plain():
        return text_of_numbers(values, java_text)
    made, left = double_texts(values)
    if left.any():
        return pc.replace_with_mask(made, pa.array(left), text_of_numbers(values[left], java_text))
    return made


def bigint_of(text: str) -> int | None:
    """A BIGINT written in decimal, or None."""
    if _WHOLE.fullmatch(text) is None or len(text) > 4000:  # Python refuses to read longer ones
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None


def double_of(text: str) -> float | None:
    """A DOUBLE written in decimal, or NaN, Infinity, inf in any case with or without a sign; else None."""
    if _NUMBER.fullmatch(text):
        return float(text)
    sign, word = (text[0], text[1:]) if text[:1] in ("+", "-") else ("", text)
    value = _SPECIAL.get(word.lower())
    if value is None or (sign and math.isnan(value)):
        return None
    return -value if sign == "-" else value


def java_text(value: float) -> str:
    """As Java writes a double: plain from 0.001 up to ten million, else with an exponent.

    Example:
        java_text(1e7) == "1.0E7"
    """
    if math.isnan(value) or math.isinf(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = repr(value)
        return plain if "e" not in plain else format(Decimal(plain), "f")
    shown = repr(value)
    if shown.strip("-")[1] == "e":  # one digit tells it, and of two the nearest are shown
        shown = f"{value:.1e}"
    sign, digits, exponent = Decimal(shown).normalize().as_tuple()
    shown = "".join(map(str, digits))
    power = len(shown) - 1 + int(exponent)
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{power}"


def _data_double(text: str) -> float | None:
    return double_of(text.strip(_BLANK))


def _cast_double(text: str) -> float | None:
    trimmed = text.strip(_TRIMMED)
    value = double_of(trimmed)
    if value is None and trimmed[-1:] in ("d", "D", "f", "F") and _NUMBER.fullmatch(trimmed[:-1]):
        return float(trimmed[:-1])
    return value


def _cast_boolean(text: str) -> bool | None:
    word = text.strip(_TRIMMED).lower()
    if word in _TRUE_WORDS:
        return True
    return False if word in _FALSE_WORDS else None


def _data_boolean(text: str) -> bool | None:
    word = text.strip(_BLANK).lower()
    if word == "true":
        return True
    return False if word == "false" else None


def _byte_table(allowed: bytes) -> NDArray[np.bool_]:
    table = np.zeros(256, dtype=np.bool_)
    table[list(allowed)] = True
    return table


# Arrow would also read hexadecimal and words; without these letters there are none.
_BIGINT_BYTES = _byte_table(b"0123456789-")
_DOUBLE_BYTES = _byte_table(b"0123456789+-.eE")


def _by_arrow(texts: Any, type_: pa.DataType, allowed: NDArray[np.bool_]) -> Parsed | None:
    """The whole array by Arrow's parser, or None where anything in it is unusual."""
    if isinstance(texts, pa.Scalar):
        return None
    if not allowed[_bytes_of(texts)].all():
        return None
    try:
        parsed = pc.cast(texts, type_)
    except pa.ArrowInvalid:
        return None
    values = pc.fill_null(parsed, 0) if parsed.null_count else parsed
    return values.to_numpy(zero_copy_only=False), np.zeros(len(texts), dtype=np.bool_)


def _bytes_of(texts: pa.StringArray) -> NDArray[np.uint8]:
    _, offsets, data = texts.buffers()
    if data is None or len(texts) == 0:
        return np.zeros(0, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int32)[[texts.offset, texts.offset + len(texts)]]
    return np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[1]]
