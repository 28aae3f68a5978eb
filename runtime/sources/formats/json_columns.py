"""Values that a scan of JSON text found become columns, by the same rules as Python values (`python_columns.py`).

The values of a column are sorted by their kind; each kind is converted as a whole, by Arrow or NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType, DecimalType
from cqc.runtime.columns.array_addresses import address
from cqc.runtime.columns.columns import DTYPES, Column
from cqc.runtime.columns.convert.arrow_columns import column_of_arrow
from cqc.runtime.columns.convert.python_columns import column_of_values
from cqc.runtime.columns.convert.reading import USUAL
from cqc.runtime.columns.date_text import parse_date
from cqc.runtime.columns.number_text import parse_bigint, parse_boolean, parse_double
from cqc.runtime.columns.repeated_text import RepeatedText, no_texts
from cqc.runtime.columns.sortable_columns import decimals_of_texts
from cqc.runtime.sources.formats import json_texts as texts
from cqc.runtime.sources.formats import json_values as scan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from cqc.runtime.columns.convert.python_columns import Converted
    from cqc.runtime.columns.convert.reading import Reading
    from cqc.runtime.columns.repeated_text import Repetition

_MOST_BIGINT = 2.0**63


@record
class Found:
    """What one column holds: the kind of each value, and where its text begins and ends in the data.

    `text_count` and `other_count`: how many values are text, and how many neither text nor NULL.
    """

    data: NDArray[np.uint8]
    kinds: NDArray[np.uint8]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    text_count: int
    other_count: int

    @property
    def place(self) -> int:
        """Where the data is in memory."""
        return address(self.data)

    def of_kind(self, *kinds: int) -> NDArray[np.int64]:
        """The rows that hold such values."""
        mask = self.kinds == kinds[0]
        for kind in kinds[1:]:
            mask |= self.kinds == kind
        return np.flatnonzero(mask)

    def texts(self, rows: NDArray[np.int64]) -> pa.StringArray:
        """The texts at some rows, all of which hold texts or numbers."""
        return _gathered(self.data, self.kinds[rows], self.starts[rows], self.ends[rows], None)

    def strings(self, lenient: bool) -> tuple[pa.StringArray, NDArray[np.bool_]]:
        """The texts of all rows, NULL where there is none, and where there is one; `lenient`: any value has its JSON text."""
        is_text = self.is_text(lenient)
        mask = None if is_text.all() else pa.py_buffer(np.packbits(is_text, bitorder="little"))
        kinds = self.kinds
        if self.other_count:
            kinds = np.where(is_text, self.kinds, scan.NULL).astype(np.uint8)
        return _gathered(self.data, kinds, self.starts, self.ends, mask), is_text

    def is_text(self, lenient: bool) -> NDArray[np.bool_]:
        """Which rows have a text; `lenient`: any value has its JSON text."""
        is_text: NDArray[np.bool_]
        if not self.other_count:
            is_text = self.kinds != scan.NULL
            return is_text
        if not lenient:
            is_text = (self.kinds == scan.TEXT) | (self.kinds == scan.ESCAPED)
            return is_text
        is_text = (self.kinds != scan.NULL) & (self.kinds != scan.BROKEN)
        nested = self.of_kind(scan.NESTED)  # the bytes inside may be anything
        if len(nested):
            fits = np.empty(len(nested), np.bool_)
            texts.are_utf8(self.place, self.starts[nested], self.ends[nested], fits)
            is_text[nested] = fits
        return is_text

    def distinct_strings(self, is_text: NDArray[np.bool_]) -> RepeatedText | None:
        """The texts of some rows by the distinct ones; None where half of them or more are."""
        most = int(np.count_nonzero(is_text)) // 2
        kinds = np.where(is_text, self.kinds, scan.NULL) if self.other_count else self.kinds
        codes, firsts = np.empty(len(kinds), np.int32), np.empty(most, np.int64)
        slots = np.full(1 << (2 * most).bit_length(), -1, np.int32)
        count = texts.encode_texts(
            self.place, self.starts, self.ends, kinds, most, slots, codes, firsts
        )
        if count <= 0:
            return None
        rows = firsts[:count]
        starts, ends, kinds = self.starts[rows], self.ends[rows], self.kinds[rows]
        if texts.has_other_spellings(self.place, starts, ends, kinds):
            return None
        distinct = _gathered(self.data, kinds, starts, ends, None)
        return RepeatedText(distinct, codes, None if is_text.all() else is_text)

    def whole_numbers(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The rows of whole numbers that have room in 64 bits, those numbers, and the rows of the others."""
        rows = self.of_kind(scan.WHOLE)
        values, fits = np.empty(len(rows), np.int64), np.empty(len(rows), np.bool_)
        texts.whole_numbers(self.place, self.starts[rows], self.ends[rows], values, fits)
        return rows[fits], values[fits], rows[~fits]

    def doubles(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """The numbers at some rows, as Python's `float` reads them."""
        written = self.texts(rows)
        try:
            made: NDArray[np.float64] = pc.cast(written, pa.float64()).to_numpy()
        except pa.ArrowInvalid:  # beyond what a double can hold
            made = np.array([float(text) for text in written.to_pylist()], np.float64)
        return made


def column_of_found(
    type_: ColumnType,
    found: Found,
    reading: Reading = USUAL,
    repetition: Repetition | None = None,
    *,
    is_read: bool = True,
) -> Converted:
    """A column of the values found, and which of them are not of the type (None: all are).

    Args:
        type_: the declared type.
        found: the values.
        reading: how they are read.
        repetition: whether texts of this column repeated themselves before; None where each is kept as it is.
        is_read: whether anybody reads the column; one of text is all NULL otherwise.
    """
    if type_ is ColumnType.STRING:
        return _strings(found, reading, repetition, is_read)
    if type_.is_nested:
        return _nested(type_, found, reading)
    if isinstance(type_, DecimalType):
        return _decimals(type_, found, reading)
    if type_ is ColumnType.BINARY:
        return _binaries(found)
    count = len(found.kinds)
    values = np.zeros(count, DTYPES[type_])
    valid = np.zeros(count, np.bool_)
    _CONVERSIONS[type_](found, values, valid, reading)
    if valid.all():
        return Column(type_, values), None
    bad = ~valid & (found.kinds != scan.NULL)
    return Column(type_, values, valid), bad if bad.any() else None


def _strings(
    found: Found, reading: Reading, repetition: Repetition | None, is_read: bool
) -> Converted:
    rows = len(found.kinds)
    if not found.other_count and not (is_read and found.text_count):
        return no_texts(rows), None
    is_text, wrong = found.is_text(reading.lenient), None
    if found.other_count:
        bad = ~is_text & (found.kinds != scan.NULL)
        wrong = bad if bad.any() else None
        if not is_read or not is_text.any():
            return no_texts(rows), wrong
    if repetition is not None and repetition.is_worth_a_try(rows):
        coded = found.distinct_strings(is_text)
        repetition.learn(rows, repeats=coded is not None)
        if coded is not None:
            return coded, wrong
    written, is_text = found.strings(reading.lenient)
    return Column(ColumnType.STRING, written, None if is_text.all() else is_text), wrong


def _nested(type_: ColumnType, found: Found, reading: Reading) -> Converted:
    """Objects and arrays; anything else does not fit."""
    inside = np.flatnonzero(found.kinds == scan.NESTED)
    fits = np.zeros(len(found.kinds), np.bool_)
    if len(inside):
        utf8 = np.empty(len(inside), np.bool_)
        texts.are_utf8(found.place, found.starts[inside], found.ends[inside], utf8)
        fits[inside] = utf8
    mask = pa.py_buffer(np.packbits(fits, bitorder="little"))
    kinds = np.where(fits, scan.NESTED, scan.NULL).astype(np.uint8)
    written = _gathered(found.data, kinds, found.starts, found.ends, mask)
    column, wrong = column_of_arrow(type_, written, reading)
    bad = ~fits & (found.kinds != scan.NULL)
    bad = bad if wrong is None else bad | wrong
    return column, bad if bad.any() else None


def _decimals(type_: DecimalType, found: Found, reading: Reading) -> Converted:
    """Numbers by their digits; text where that is allowed."""
    fits = (found.kinds == scan.WHOLE) | (found.kinds == scan.FRACTION)
    if reading.lenient:
        fits |= (found.kinds == scan.TEXT) | (found.kinds == scan.ESCAPED)
    mask = pa.py_buffer(np.packbits(fits, bitorder="little"))
    kinds = np.where(fits, found.kinds, scan.NULL).astype(np.uint8)
    written = _gathered(found.data, kinds, found.starts, found.ends, mask)
    column, wrong = decimals_of_texts(type_, written)
    bad = ~fits & (found.kinds != scan.NULL)
    bad = bad if wrong is None else bad | wrong
    return column, bad if bad.any() else None


def _binaries(found: Found) -> Converted:
    written, is_text = found.strings(False)
    column, wrong = column_of_values(ColumnType.BINARY, written.to_pylist(), USUAL)
    bad = ~is_text & (found.kinds != scan.NULL)
    bad = bad if wrong is None else bad | wrong
    return column, bad if bad.any() else None


def _gathered(
    data: NDArray[np.uint8],
    kinds: NDArray[np.uint8],
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    mask: pa.Buffer | None,
) -> pa.StringArray:
    """The texts of values; of one whose kind is NULL, nothing. Resolved escapes are shorter than they were."""
    room = texts.text_room(starts, ends, kinds)
    offsets, text = np.empty(len(kinds) + 1, np.int32), np.empty(room, np.uint8)
    texts.gather_text(address(data), starts, ends, kinds, offsets, text)
    return pa.StringArray.from_buffers(len(kinds), pa.py_buffer(offsets), pa.py_buffer(text), mask)


# Each writes the values that are of its type, and marks them as valid.


def _bigints(
    found: Found, values: NDArray[Any], valid: NDArray[np.bool_], reading: Reading
) -> None:
    if reading.lenient:
        _by_cast(found, values, valid, parse_bigint)
    rows, numbers, _ = found.whole_numbers()
    values[rows], valid[rows] = numbers, True
    rows = found.of_kind(scan.FRACTION)
    if len(rows):
        doubles = found.doubles(rows)
        whole = (doubles == np.floor(doubles)) & (doubles >= -_MOST_BIGINT)
        whole &= doubles < _MOST_BIGINT
        values[rows[whole]], valid[rows[whole]] = doubles[whole].astype(np.int64), True


def _doubles(
    found: Found, values: NDArray[Any], valid: NDArray[np.bool_], reading: Reading
) -> None:
    if reading.lenient:
        _by_cast(found, values, valid, parse_double)
    rows, numbers, huge = found.whole_numbers()
    values[rows], valid[rows] = numbers, True
    rows = np.concatenate([huge, found.of_kind(scan.FRACTION)])
    if len(rows):
        values[rows], valid[rows] = found.doubles(rows), True
    for kind, meaning in _SPECIAL:
        rows = found.of_kind(kind)
        values[rows], valid[rows] = meaning, True
    rows = found.of_kind(scan.TEXT, scan.ESCAPED)
    if len(rows) and not reading.lenient:
        written = found.texts(rows)
        for word, meaning in (("NaN", np.nan), ("Infinity", np.inf), ("-Infinity", -np.inf)):
            named = rows[pc.equal(written, word).to_numpy(zero_copy_only=False)]
            values[named], valid[named] = meaning, True


def _booleans(
    found: Found, values: NDArray[Any], valid: NDArray[np.bool_], reading: Reading
) -> None:
    values[:] = found.kinds == scan.TRUE
    valid[:] = values | (found.kinds == scan.FALSE)
    if reading.lenient:
        _by_cast(found, values, valid, parse_boolean)


def _timestamps(
    found: Found, values: NDArray[Any], valid: NDArray[np.bool_], reading: Reading
) -> None:
    if reading.times.is_iso:
        texts.usual_instants(found.place, found.starts, found.ends, found.kinds, values, valid)
        if valid.all():
            return
    rows = found.of_kind(scan.TEXT, scan.ESCAPED)
    rows = rows[~valid[rows]]
    if len(rows):
        us, bad = reading.times.of_text(found.texts(rows))
        values[rows], valid[rows] = us, ~bad
    rows, numbers, _ = found.whole_numbers()
    if len(rows):
        us, bad = reading.times.of_whole(numbers)
        values[rows], valid[rows] = us, ~bad
    rows = found.of_kind(scan.FRACTION)
    if len(rows):
        us, bad = reading.times.of_fraction(found.doubles(rows))
        values[rows], valid[rows] = us, ~bad


def _dates(found: Found, values: NDArray[Any], valid: NDArray[np.bool_], reading: Reading) -> None:
    del reading
    rows = found.of_kind(scan.TEXT, scan.ESCAPED)
    if len(rows):
        days, bad = parse_date(found.texts(rows))
        values[rows], valid[rows] = days, ~bad


def _by_cast(
    found: Found, values: NDArray[Any], valid: NDArray[np.bool_], parse: Callable[..., Any]
) -> None:
    """Text in the place of numbers and booleans: what CAST makes of it."""
    rows = found.of_kind(scan.TEXT, scan.ESCAPED)
    if len(rows):
        made, bad = parse(found.texts(rows), cast=True)
        values[rows], valid[rows] = made, ~bad


_SPECIAL = ((scan.NAN, np.nan), (scan.INFINITY, np.inf), (scan.MINUS_INFINITY, -np.inf))
_CONVERSIONS: dict[
    ColumnType, Callable[[Found, NDArray[Any], NDArray[np.bool_], Reading], None]
] = {
    ColumnType.BIGINT: _bigints,
    ColumnType.DOUBLE: _doubles,
    ColumnType.BOOLEAN: _booleans,
    ColumnType.TIMESTAMP: _timestamps,
    ColumnType.DATE: _dates,
}
