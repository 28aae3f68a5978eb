"""Functions that make an array of the parts of a text: `split` and `regexp_extract_all`.

Arrow splits a whole column where the pattern is a constant none of whose matches can be empty (Java and RE2 differ in which empty matches
count). All else is asked of RE2 once for each distinct text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.bytes.byte_columns import bytes_of
from cqc.runtime.columns.bytes.text_bytes import between_marks
from cqc.runtime.columns.columns import Column, spread
from cqc.runtime.columns.nested import lists_of, nested_column
from cqc.runtime.expressions.regular_expressions import compiled, never_empty
from cqc.runtime.expressions.row_by_row import FAILED, constant_text, is_constant

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.expressions.expression_kernels import Frame, Node
    from cqc.runtime.expressions.kernel import NodeMaker

_LISTS = pa.list_(pa.string())
_PLAIN = re.compile(r"[^\\^$.|?*+()\[\]{}]+|\\[.|?*+()\[\]{}^$\\/-]")


def split_text(text: str, pattern: str, limit: int = -1) -> Any:
    """The parts between the matches, at most so many where the limit is above 0."""
    if pattern == "":
        characters = list(text) or [""]
        if 0 < limit < len(characters):
            return [*characters[: limit - 1], text[limit - 1 :]]
        return characters
    program = compiled(pattern)
    if program is None:
        return FAILED
    parts: list[str] = []
    at = 0
    for found in program.finditer(text):
        if 0 < limit <= len(parts) + 1:
            break
        if found.end() == 0:  # an empty match before the first character parts nothing from it
            continue
        parts.append(text[at : found.start()])
        at = found.end()
    return [*parts, text[at:]]


def all_extracted(text: str, pattern: str, group: int = 1) -> Any:
    """What a group of each match holds."""
    program = compiled(pattern)
    if program is None:
        return FAILED
    if not 0 <= group <= program.groups:
        return FAILED if program.search(text) is not None else []
    if program.groups <= 1 and group == program.groups:
        return program.findall(text)
    return [found.group(group) or "" for found in program.finditer(text)]


def _split_column(text: Column, given: list[Column]) -> Any:
    """The parts of a whole column, where Arrow finds the same; else None."""
    pattern, limit = given[0], given[1] if len(given) > 1 else None
    if is_constant(text) or not (is_constant(pattern) and is_constant(limit)):
        return None
    source = constant_text(pattern)
    at_most = -1 if limit is None else int(limit.values)
    splits = at_most - 1 if at_most > 0 else None
    if at_most == 1:
        return None
    if _PLAIN.fullmatch(source):
        plain = source.removeprefix("\\")
        return pc.split_pattern(text.values, plain, max_splits=splits)
    if compiled(source) is None or not never_empty(source):
        return None
    return pc.split_pattern_regex(text.values, source, max_splits=splits)


_MARKS = ("\x00", "\x01", "\x02", "\x1f")  # what texts do not hold; one is enough


def _extracted_column(text: Column, given: list[Column]) -> Any:
    """What a group of each match holds, of a whole column; None where Arrow would find something else.

    Each match is replaced by its group between two marks.
    """
    pattern, group = given[0], given[1] if len(given) > 1 else None
    if is_constant(text) or not (is_constant(pattern) and is_constant(group)):
        return None
    source, wanted = constant_text(pattern), 1 if group is None else int(group.values)
    program = compiled(source)
    if program is None or not never_empty(source) or not 0 <= wanted <= min(program.groups, 9):
        return None
    texts = text.values
    held, _ = bytes_of(texts)
    mark = next((mark for mark in _MARKS if not (held == ord(mark)).any()), None)
    if mark is None:
        return None
    marked = pc.replace_substring_regex(texts, source, f"{mark}\\{wanted}{mark}")
    offsets, parts = between_marks(marked, ord(mark))
    valid = None if not texts.null_count else texts.is_valid().to_numpy(zero_copy_only=False)
    return lists_of(offsets, parts, valid)


def _list_node(
    function: Callable[..., Any], whole: Callable[[Column, list[Column]], Any] | None
) -> NodeMaker:
    def maker(nodes: list[Node], type_: ColumnType) -> Node:
        def node(frame: Frame) -> Column:
            text, *given = [each(frame) for each in nodes]
            made = None
            if whole is not None and all(each.valid is None for each in given):
                made = whole(text, given)
            if made is not None:
                return nested_column(type_, made)
            return _by_distinct(function, type_, frame, [text, *given])

        return node

    return maker


def _by_distinct(
    function: Callable[..., Any], type_: ColumnType, frame: Frame, columns: list[Column]
) -> Column:
    """Asked once for each distinct combination of a text and constants, else once a row."""
    rest_is_constant = all(map(is_constant, columns[1:]))
    spread_columns = [spread(column, frame.rows) for column in columns]
    if rest_is_constant and frame.rows:
        encoded = spread_columns[0].values.dictionary_encode(null_encoding="encode")
        texts, places = encoded.dictionary.to_pylist(), encoded.indices
        others = [_listed(column)[:1] * len(texts) for column in spread_columns[1:]]
        lists: list[list[Any]] = [texts, *others]
    else:
        lists, places = [_listed(column) for column in spread_columns], None
    made = [None if None in row else function(*row) for row in zip(*lists, strict=True)]
    failed = np.array([each is FAILED for each in made], np.bool_)
    arrays = pa.array([None if each is FAILED else each for each in made], _LISTS)
    if places is not None:
        arrays, failed = arrays.take(places), failed[places.to_numpy()]
    if failed.any():
        frame.fail(failed)
    return nested_column(type_, arrays)


def _listed(column: Column) -> list[Any]:
    if column.type.held_as_text:
        texts: list[Any] = column.values.to_pylist()
        return texts
    values = column.values.tolist()
    if column.valid is None:
        return list(values)
    return [value if known else None for value, known in zip(values, column.valid, strict=True)]


NODES: dict[str, NodeMaker] = {
    "split": _list_node(split_text, _split_column),
    "regexp_extract_all": _list_node(all_extracted, _extracted_column),
}
