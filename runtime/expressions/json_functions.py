"""Kernels of the functions of JSON in text: by whole columns, and by Python's parser once for each distinct text that is unusual.

As in Spark the text is read to the end of its first value, of a key that comes twice the first counts, and numbers with a point are
written as Java writes doubles.
"""

from __future__ import annotations

import functools
import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.columns.bytes.json_paths import LEFT, NOTHING, values_at
from cqc.runtime.columns.columns import take
from cqc.runtime.columns.number_text import java_text
from cqc.runtime.expressions.row_by_row import FAILED, constant_text, is_constant, row_kernel
from cqc.runtime.kernel import is_plain

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.expressions.kernel import Kernel, NodeMaker, PartialKernel, PartialOutcome

_STEP = re.compile(r"\s*\.\s*([^.\[*][^.\[]*)|\s*\[\s*(\d+)\s*\]|\s*\['([^'?]+)'\]")
_WHITE = " \t\r\n"


class _Object(list[tuple[str, Any]]):
    """The keys and values of an object, as they came."""


class _Word(str):
    """A number as it will be written."""

    __slots__ = ()


def _refuse(word: str) -> None:
    raise ValueError(word)  # NaN and the infinities, which JSON has not


_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object,
    parse_float=lambda text: _Word(java_text(float(text))),
    parse_int=_Word,
    parse_constant=_refuse,
    strict=False,
)


@functools.lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...] | None:
    """The keys and places that a path names; None for one that is no path."""
    rest = path.lstrip(_WHITE)
    if not rest.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(rest):
        found = _STEP.match(rest, at)
        if found is None:
            return None
        name, place, quoted = found.groups()
        steps.append(int(place) if place is not None else name if name is not None else quoted)
        at = found.end()
    return tuple(steps)


def get_json_object(text: str, path: str) -> Any:
    """The value at a path, as text; None where there is none."""
    steps = _steps(path)
    if steps is None:
        return FAILED if "*" in path else None
    try:
        own = text.lstrip(_WHITE)
        value, end = _DECODER.raw_decode(own)
    except (ValueError, RecursionError):
        return None
    if type(value) is _Word and own[end : end + 1] not in ("", *_WHITE):
        return None  # a number ends where white space begins: a date is none
    for step in steps:
        value = _inside(value, step)
        if value is None:
            return None
    try:
        shown = value if type(value) is str else _json(value)
        shown.encode()
    except (UnicodeEncodeError, RecursionError):  # half of a surrogate pair
        return FAILED
    return str(shown)


def _inside(value: Any, step: str | int) -> Any:
    if isinstance(step, int):
        is_array = type(value) is list
        return value[step] if is_array and step < len(value) else None
    if type(value) is not _Object:
        return None
    return next((inner for key, inner in value if key == step), None)


def _json(value: Any) -> str:
    """A value as JSON without white space."""
    if isinstance(value, _Word):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, _Object):
        return f"{{{','.join(f'{_json(key)}:{_json(inner)}' for key, inner in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    return {True: "true", False: "false", None: "null"}[value]


_one_by_one = row_kernel(get_json_object)


def _get_json_object(text: Column, path: Column) -> PartialOutcome:
    """By whole columns where the path is a constant; Python is asked about the texts that the kernel leaves."""
    steps = _steps(constant_text(path)) if is_constant(path) else None
    if is_constant(text) or not steps or is_plain():
        return _one_by_one(text, path)
    made, outcome = values_at(text.values, steps)
    present, failed = outcome != NOTHING, np.zeros(len(outcome), np.bool_)
    left = np.flatnonzero(outcome == LEFT)
    if len(left):
        some = take(text, left)
        texts, bad, there = _one_by_one(some, path)
        mask = pa.array(outcome == LEFT)
        made = pc.replace_with_mask(made, mask, pa.array(texts))
        failed[left], present[left] = bad, there
    return made, failed, present


KERNELS: dict[str, Kernel] = {}

PARTIAL_KERNELS: dict[str, PartialKernel] = {"get_json_object": _get_json_object}

NODES: dict[str, NodeMaker] = {}
