"""`format_string`: values written as Java's Formatter writes them.

A format is read once, when the query is compiled. Where it does not go with the types of its values (`%d` of a DOUBLE), or asks
for a value that is not there, the call fails on every row, as it would in Spark.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import null_column, text_column, to_python
from cqc.runtime.expressions.casts import cast, null_where
from cqc.runtime.expressions.expression_kernels import is_known, spread

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.expression_kernels import Frame, Node

_SPECIFIER = re.compile(r"%(\d+\$|<)?([-#+ 0,(]*)(\d+)?(\.\d+)?(.)", re.DOTALL)
_WHOLE = frozenset("doxX")
_REAL = frozenset("feEgG")
_ANY = frozenset("sSbB")
Part = str | tuple[int, str, int, int, str]  # a text, or (value, flags, width, precision, letter)
_WRONG = "!"  # the letter of a value of another type: only NULL can be written


def format_node(nodes: list[Node], type_: ColumnType) -> Node:
    """The node of a call; the first argument is the format."""

    def node(frame: Frame) -> Column:
        formats, *values = [argument(frame) for argument in nodes]
        if not np.all(is_known(formats)):
            return null_column(type_, frame.rows)
        parts = _read(formats.values.as_py(), [value.type for value in values])
        if parts is None:
            frame.fail(np.ones(frame.rows, np.bool_))
            return null_column(type_, frame.rows)
        if all(_is_plain(part) for part in parts):
            return text_column(_joined(parts, values, frame.rows))
        lists = [_shown_values(spread(value, frame.rows)) for value in values]
        rows = zip(*lists, strict=True) if lists else iter([()] * frame.rows)
        bad = [part[0] for part in parts if not isinstance(part, str) and part[4] == _WRONG]
        made = [
            None
            if any(row[at] is not None for at in bad)
            else "".join(_written(part, row) for part in parts)
            for row in rows
        ]
        if bad:
            frame.fail(np.array([text is None for text in made], np.bool_))
        return text_column(pa.array(made, pa.string()))

    return node


def _is_plain(part: Part) -> bool:
    """Whether a part is written alike on all rows but for the value: a text, `%s` or `%d`, perhaps with a width."""
    return isinstance(part, str) or (part[4] in "sd" and not set(part[1]) - {"-"} and part[3] < 0)


def _joined(parts: list[Part], values: list[Column], rows: int) -> pa.StringArray:
    """A format of plain parts, by whole columns."""
    pieces: list[Any] = []
    for part in parts:
        if isinstance(part, str):
            pieces.append(pa.scalar(part, pa.string()))
            continue
        which, flags, width, _, _ = part
        column = spread(cast(values[which], ColumnType.STRING)[0], rows)
        shown = column.values
        if column.valid is not None:
            shown = pc.fill_null(null_where(shown, ~column.valid), "null")
        if width:
            shown = (pc.utf8_rpad if "-" in flags else pc.utf8_lpad)(shown, width)
        pieces.append(shown)
    if all(isinstance(piece, pa.Scalar) for piece in pieces):
        return pa.repeat(pa.scalar("".join(piece.as_py() for piece in pieces), pa.string()), rows)
    return pc.binary_join_element_wise(*pieces, pa.scalar("", pa.string()))


def _shown_values(column: Column) -> list[Any]:
    """Python values; instants as their text."""
    if column.type in (ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.BOOLEAN, ColumnType.STRING):
        return to_python(column)
    return to_python(cast(column, ColumnType.STRING)[0])


def _read(text: str, types: list[ColumnType]) -> list[Part] | None:
    """The parts of a format, or None where it is wrong."""
    parts: list[Part] = []
    at = following = last = 0
    while (found := text.find("%", at)) >= 0:
        parts.append(text[at:found])
        specifier = _SPECIFIER.match(text, found)
        if specifier is None:
            return None
        index, flags, width, precision, letter = specifier.groups()
        at = specifier.end()
        if letter in "%n":
            shown = "%" if letter == "%" else "\n"
            parts.append(
                shown.ljust(int(width or 0)) if "-" in flags else shown.rjust(int(width or 0))
            )
            continue
        if index == "<":
            which = last
        elif index:
            which = int(index[:-1])
        else:
            following += 1
            which = following
        last = which
        if not 1 <= which <= len(types) or not _is_right(letter, flags, precision):
            return None
        digits = -1 if precision is None else int(precision[1:])
        known = letter if _fits(letter, types[which - 1]) else _WRONG
        parts.append((which - 1, flags, int(width or 0), digits, known))
    parts.append(text[at:])
    return parts


def _is_right(letter: str, flags: str, precision: str | None) -> bool:
    if letter in _ANY:
        return not set(flags) - {"-"}
    return letter in _REAL or (letter in _WHOLE and precision is None)


def _fits(letter: str, type_: ColumnType) -> bool:
    if letter in _ANY:
        return True
    return type_ is (ColumnType.BIGINT if letter in _WHOLE else ColumnType.DOUBLE)


def _written(part: Part, row: tuple[Any, ...]) -> str:
    if isinstance(part, str):
        return part
    which, flags, width, precision, letter = part
    value = row[which]
    if letter in _ANY or value is None:
        text = _general(value, letter, precision)
    else:
        text = _number(value, flags, width, precision, letter)
    return text.ljust(width) if "-" in flags else text.rjust(width)


def _general(value: Any, letter: str, precision: int) -> str:
    if letter in "bB":
        shown = value if isinstance(value, bool) else value is not None
        text = "true" if shown else "false"
    else:
        text = _plain(value)
    text = text if precision < 0 else text[:precision]
    return text.upper() if letter.isupper() else text


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        from cqc.runtime.columns.number_text import format_double

        return str(format_double(np.asarray(value)).as_py())
    return str(value)


def _number(value: Any, flags: str, width: int, precision: int, letter: str) -> str:
    if letter in "xXo":
        bits = value & (2**64 - 1)
        text = format(bits, "o" if letter == "o" else "x")
        text = ("0x" if letter != "o" else "0") + text if "#" in flags else text
        text = text.upper() if letter == "X" else text
        return text.rjust(width, "0") if "0" in flags else text
    if isinstance(value, float) and not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "Infinity"
        return _signed(name, value < 0, flags if not math.isnan(value) else "", 0)
    size = abs(value)
    text = str(size) if letter == "d" else _real(size, precision if precision >= 0 else 6, letter)
    if "," in flags:
        whole, point, rest = text.partition(".")
        text = f"{int(whole):,}{point}{rest}"
    negative = value < 0 or (isinstance(value, float) and math.copysign(1.0, value) < 0)
    text = _signed(text, negative, flags, width if "0" in flags else 0)
    return text.upper() if letter.isupper() else text


def _signed(text: str, negative: bool, flags: str, width: int) -> str:
    before = "(" if negative and "(" in flags else "-" if negative else ""
    if not negative:
        before = "+" if "+" in flags else " " if " " in flags else ""
    after = ")" if negative and "(" in flags else ""
    return before + text.rjust(width - len(before) - len(after), "0") + after


def _real(size: float, precision: int, letter: str) -> str:
    """Half up on the digits that the number shows, as Java rounds."""
    shown = Decimal(repr(size))
    if letter == "f":
        exact = (
            shown.quantize(Decimal(1).scaleb(-precision), ROUND_HALF_UP) if size < 1e300 else shown
        )
        return f"{exact:f}"
    if letter in "gG":
        precision = max(precision, 1)
        rounded = _scientific(shown, precision - 1)
        if size == 0 or 1e-4 <= float(rounded) < 10.0**precision:
            places = precision - 1 - (0 if size == 0 else rounded.adjusted())
            return f"{shown.quantize(Decimal(1).scaleb(-max(places, 0)), ROUND_HALF_UP):f}"
        precision -= 1
    rounded = _scientific(shown, precision)
    digits = "".join(map(str, rounded.as_tuple().digits)).ljust(precision + 1, "0")[: precision + 1]
    exponent = 0 if rounded == 0 else rounded.adjusted()
    mantissa = digits[0] + ("." + digits[1:] if precision else "")
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _scientific(shown: Decimal, digits: int) -> Decimal:
    """A number rounded to so many digits after its first one."""
    if shown == 0:
        return Decimal(0)
    return shown.quantize(Decimal(1).scaleb(shown.adjusted() - digits), ROUND_HALF_UP)
