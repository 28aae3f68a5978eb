"""Kernels of the functions that look for something in a text (the compiler's `functions/search.py`).

What a kernel gets and gives is in `kernel.py`; NULL is its caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.columns.bytes.text_bytes import places
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions import text_lists
from cqc.runtime.expressions.expression_kernels import is_known
from cqc.runtime.expressions.patterns.like_patterns import match_each
from cqc.runtime.expressions.regular_expressions import regexp_extract, regexp_replace
from cqc.runtime.expressions.row_by_row import FAILED, constant_text, is_constant, row_kernel

if TYPE_CHECKING:
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.expressions.arithmetic import Outcome
    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome


def _instr(text: Column, part: Column) -> PartialOutcome:
    if is_constant(text) and is_constant(part):
        return places(part.values, text.values, None, 1)[0], None, None
    rows = len(part if is_constant(text) else text)
    return places(part.values, text.values, None, rows), None, None


def _locate(nodes: list[Node], type_: ColumnType) -> Node:
    """NULL as the start finds nothing; NULL as the text or the part is NULL."""

    def node(frame: Frame) -> Column:
        part, text, *starts = [argument(frame) for argument in nodes]
        first = starts[0] if starts else Column(type_, np.asarray(1))
        known = np.broadcast_to(is_known(part) & is_known(text), (frame.rows,))
        begins = np.where(is_known(first), first.values, 0)
        values = places(part.values, text.values, begins, frame.rows)
        is_start = np.broadcast_to(is_known(first), (frame.rows,))
        return Column(type_, np.where(is_start, values, 0), np.asarray(known | ~is_start))

    return node


def piece(text: str, separator: str, number: int) -> Any:
    """One part of a text between separators."""
    if number == 0:
        return FAILED
    parts = text.split(separator) if separator else [text]
    at = number - 1 if number > 0 else len(parts) + number
    return parts[at] if 0 <= at < len(parts) else ""


_slow_piece = row_kernel(piece)


def _split_part(text: Column, separator: Column, number: Column) -> PartialOutcome:
    constants = is_constant(separator) and is_constant(number)
    if is_constant(text) or not constants or not constant_text(separator):
        return _slow_piece(text, separator, number)
    wanted = int(number.values)
    if wanted == 0:
        return text.values, np.asarray(True), None
    lists = pc.split_pattern(pc.fill_null(text.values, ""), constant_text(separator))
    starts = lists.offsets.to_numpy()
    at = starts[:-1] + wanted - 1 if wanted > 0 else starts[1:] + wanted
    there = (at >= starts[:-1]) & (at < starts[1:])
    places = pa.array(np.where(there, at, 0), mask=~there)
    return pc.fill_null(lists.values.take(places), ""), None, None


def _regexp_like(text: Column, pattern: Column) -> Outcome:
    return match_each(PatternKind.RLIKE, text.values, pattern.values, "\\")


KERNELS: dict[str, Kernel] = {"regexp_like": _regexp_like}

PARTIAL_KERNELS: dict[str, PartialKernel] = {
    "instr": _instr,
    "split_part": _split_part,
    "regexp_extract": regexp_extract,
    "regexp_replace": regexp_replace,
}

NODES: dict[str, NodeMaker] = {"locate": _locate, **text_lists.NODES}
