"""One line of JSON as Python objects: for rows that are shown to people, and why a line holds none."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cqc.runtime.intake.typed_batch import Reject

if TYPE_CHECKING:
    from collections.abc import Callable

_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # as old as the module


def decoded(line: bytes) -> str:
    """Text; bytes that are not UTF-8 become halves of surrogate pairs, which no column takes."""
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line.decode(errors="surrogateescape")


def parse_line(line: str) -> dict[str, Any] | Reject:
    """The object of a line without white space around it, or why it is none."""
    try:
        value, end = _scan(line, 0)
    except (StopIteration, ValueError, RecursionError):
        return Reject(_why(line), {"line": line})
    if end != len(line):
        return Reject("not JSON", {"line": line})
    return value if isinstance(value, dict) else Reject("not an object", value)


def row_of_line(line: bytes) -> Any:
    """What is shown of the row on a line."""
    parsed = parse_line(decoded(line).strip(" \t\r"))
    return parsed.row if isinstance(parsed, Reject) else parsed


def _why(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return "not JSON"
