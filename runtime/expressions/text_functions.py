"""Kernels of the functions of text (the compiler's `functions/text.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.bytes.byte_columns import is_ascii
from cqc.runtime.columns.bytes.letter_case import capital, titled_texts
from cqc.runtime.columns.bytes.text_bytes import holds, last_points
from cqc.runtime.columns.bytes.translated import translated_texts
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.columns.comparisons import truth
from cqc.runtime.columns.distinct_text import text_of_text
from cqc.runtime.expressions.edit_distance import levenshtein
from cqc.runtime.expressions.expression_kernels import spread
from cqc.runtime.expressions.java_format import format_node
from cqc.runtime.expressions.patterns.like_patterns import lower_texts
from cqc.runtime.expressions.row_by_row import (
    FAILED,
    constant_text,
    is_constant,
    row_kernel,
    texts_of_rows,
    truths_of_rows,
)
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome


def _lower(column: Column) -> Outcome:
    return lower_texts(column.values), None


def _upper(column: Column) -> Outcome:
    texts = column.values
    if isinstance(texts, pa.Scalar):
        return text_of_text(texts, str.upper), None
    return (pc.ascii_upper(texts) if is_ascii(texts) else capital(texts)), None


def _length(column: Column) -> Outcome:
    if isinstance(column.values, pa.Scalar):
        return np.asarray(len(column.values.as_py() or ""), dtype=np.int64), None
    lengths = pc.fill_null(pc.utf8_length(column.values), 0)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64), None


def _concat(*columns: Column) -> Outcome:
    return pc.binary_join_element_wise(*(column.values for column in columns), ""), None


_MOST_INT = 2**31 - 1


def _substring(text: Column, position: Column, length: Column | None = None) -> Outcome:
    """Positions count from 1, negative ones from the end, 0 is the first."""
    if is_constant(position) and is_constant(length):
        count = _MOST_INT if length is None else int(length.values)
        return _cut(text.values, int(position.values), count), None
    lengths = () if length is None else (length,)
    return texts_of_rows(substring, text, position, *lengths), None


def _cut(texts: Any, position: int, count: int = _MOST_INT) -> Any:
    """A part between two constant positions."""
    if isinstance(texts, pa.Scalar):
        return text_of_text(texts, lambda value: substring(value, position, count))
    start = position - 1 if position > 0 else position
    stop: int | None = start + count
    if count <= 0:
        return pc.if_else(pc.is_valid(texts), "", texts)
    if position < 0 and start + count >= 0:
        stop = None  # the part reaches the end of the text
    return pc.utf8_slice_codeunits(texts, start, stop)


def _left(text: Column, size: Column) -> Outcome:
    if is_constant(size):
        return _cut(text.values, 1, max(int(size.values), 0)), None
    return texts_of_rows(lambda value, count: value[: max(count, 0)], text, size), None


def _right(text: Column, size: Column) -> Outcome:
    count = int(size.values) if is_constant(size) else 1
    if is_constant(size) and count > 0:
        if is_constant(text) or is_plain():
            return _cut(text.values, -count), None
        return last_points(text.values, count), None
    if is_constant(size):
        return _cut(text.values, 1, 0), None
    return texts_of_rows(lambda value, count: value[-count:] if count > 0 else "", text, size), None


def substring(text: str, position: int, length: int = _MOST_INT) -> str:
    """What SUBSTRING gives; what is outside the text is not there. A length that is left out is Java's longest."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    return text[max(start, 0) : max(start + length, 0)]


def _trimmed(arrow: Any, strip: Callable[[str, str], str]) -> Kernel:
    """Without spaces at an end, or, where there are two arguments, the second without the characters of the first."""

    def kernel(first: Column, text: Column | None = None) -> Outcome:
        if text is None:
            return arrow(first.values, " "), None
        if not is_constant(first):
            return texts_of_rows(lambda characters, own: strip(own, characters), first, text), None
        characters = constant_text(first)
        return (arrow(text.values, characters) if characters else text.values), None

    return kernel


def _reverse(column: Column) -> Outcome:
    return pc.utf8_reverse(column.values), None


def _replace(text: Column, search: Column, replacement: Column | None = None) -> Outcome:
    if not (is_constant(search) and is_constant(replacement)):
        rest = () if replacement is None else (replacement,)
        return texts_of_rows(_replaced, text, search, *rest), None
    sought = constant_text(search)
    put = "" if replacement is None else constant_text(replacement)
    return pc.replace_substring(text.values, sought, put) if sought else text.values, None


def _replaced(text: str, search: str, replacement: str = "") -> str:
    return text.replace(search, replacement) if search else text


def _contains(text: Column, part: Column) -> Outcome:
    if is_constant(part) and not is_constant(text) and not is_plain():
        return holds(constant_text(part), text.values), None
    return _contains_slowly(text, part)


def _part_test(whole_column: Callable[..., Any], one_row: Callable[[str, str], bool]) -> Kernel:
    """A test of a text for a part; the part is nearly always a constant."""

    def kernel(text: Column, part: Column) -> Outcome:
        if is_constant(part):
            return truth(whole_column(text.values, constant_text(part))), None
        return truths_of_rows(one_row, text, part), None

    return kernel


_contains_slowly = _part_test(pc.match_substring, str.__contains__)

LONGEST = 1 << 20
"""Code points of the longest text that `repeat`, `lpad` and `rpad` make: one call must not fill the memory."""


def _padded(*, before: bool) -> Callable[..., str | None]:
    def one_row(text: str, size: int, pad: str = " ") -> Any:
        if size > LONGEST and pad:
            return FAILED
        missing = size - len(text)
        if missing <= 0 or not pad:
            return text[: max(size, 0)]
        filling = (pad * (missing // len(pad) + 1))[:missing]
        return filling + text if before else text + filling

    return one_row


def _pad(*, before: bool) -> PartialKernel:
    slowly = row_kernel(_padded(before=before))
    quickly = pc.utf8_lpad if before else pc.utf8_rpad

    def kernel(text: Column, size: Column, pad: Column | None = None) -> PartialOutcome:
        filling = " " if pad is None else constant_text(pad) if is_constant(pad) else ""
        if is_constant(text) or not is_constant(size) or len(filling) != 1:
            return slowly(*(each for each in (text, size, pad) if each is not None))
        width = int(size.values)
        if width > LONGEST:
            return text.values, np.asarray(True), None
        return _cut(quickly(text.values, max(width, 0), filling), 1, max(width, 0)), None, None

    return kernel


def _repeat(text: Column, times: Column) -> Outcome:
    lengths = pc.fill_null(pc.binary_length(text.values), 0)
    size = np.asarray(lengths if isinstance(lengths, pa.Array) else lengths.as_py(), dtype=np.int64)
    count = np.maximum(times.values, 0)
    beyond = np.asarray(size * np.minimum(count, LONGEST + 1) > LONGEST)
    count = np.where(beyond | (size == 0), 0, count)
    failed = beyond if beyond.any() else None
    if is_constant(text):  # Arrow's kernel wants an array
        return texts_of_rows(
            lambda value, times: value * times, text, Column(times.type, count)
        ), failed
    filled = pc.fill_null(text.values, "")
    return pc.binary_repeat(filled, pa.array(np.broadcast_to(count, beyond.shape))), failed


def _translated(text: str, search: str, put: str) -> str:
    table: dict[int, str | None] = {}
    for at, character in enumerate(search):
        table.setdefault(ord(character), put[at] if at < len(put) else None)
    return text.translate(table)


_translate_slowly = row_kernel(_translated)


def _translate(text: Column, search: Column, put: Column) -> PartialOutcome:
    if is_constant(text) or not (is_constant(search) and is_constant(put)) or is_plain():
        return _translate_slowly(text, search, put)
    return translated_texts(text.values, constant_text(search), constant_text(put)), None, None


def _initcap(column: Column) -> Outcome:
    texts = column.values
    if isinstance(texts, pa.Scalar):
        return text_of_text(texts, titled), None
    return titled_texts(texts, titled), None


def titled(text: str) -> str:
    """Each word (between spaces) with its first letter in title case and the others in lower case."""
    return " ".join(word and _titled_word(word) for word in text.split(" "))


def _titled_word(word: str) -> str:
    first = word[0]
    return first.title() + word.lower()[len(first.lower()) :]


def _concat_ws(nodes: list[Node], type_: ColumnType) -> Node:
    def node(frame: Frame) -> Column:
        separator, *parts = [spread(argument(frame), frame.rows) for argument in nodes]
        between = separator.values
        if not parts or not frame.rows:
            return text_column(pc.if_else(pc.is_valid(between), "", between))
        # Arrow leaves out rows in which all parts are NULL, so there is always one more part: '' and a separator before all.
        sure = pa.repeat(pa.scalar(""), frame.rows)
        filled = pc.fill_null(between, "")
        texts = [part.values for part in parts]
        if not any(part.values.null_count for part in parts):
            own = pc.binary_join_element_wise(*texts, between)
            return text_column(own)
        joined = pc.binary_join_element_wise(sure, *texts, filled, null_handling="skip")
        widths = pc.unique(pc.utf8_length(filled)).to_pylist()
        if len(widths) == 1:
            cut = pc.utf8_slice_codeunits(joined, widths[0])
        else:
            pairs = zip(joined.to_pylist(), filled.to_pylist(), strict=True)
            cut = pa.array([text[len(first) :] for text, first in pairs], pa.string())
        return text_column(pc.if_else(pc.is_valid(between), cut, pa.scalar(None, pa.string())))

    return node


KERNELS: dict[str, Kernel] = {
    "lower": _lower,
    "upper": _upper,
    "length": _length,
    "concat": _concat,
    "substring": _substring,
    "trim": _trimmed(pc.utf8_trim, str.strip),
    "ltrim": _trimmed(pc.utf8_ltrim, str.lstrip),
    "rtrim": _trimmed(pc.utf8_rtrim, str.rstrip),
    "replace": _replace,
    "reverse": _reverse,
    "startswith": _part_test(pc.starts_with, str.startswith),
    "endswith": _part_test(pc.ends_with, str.endswith),
    "contains": _contains,
    "left": _left,
    "right": _right,
    "repeat": _repeat,
    "initcap": _initcap,
}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "lpad": _pad(before=True),
    "rpad": _pad(before=False),
    "translate": _translate,
    "levenshtein": levenshtein,
}

NODES: dict[str, NodeMaker] = {"concat_ws": _concat_ws, "format_string": format_node}
