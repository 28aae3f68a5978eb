"""JSON lines: one object a line, streamed block by block.

Keys match like column names, a missing key is NULL, unknown keys are ignored, blank lines are skipped. A line that is not
JSON, not an object or not UTF-8 is rejected alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from cqc.runtime.intake import Intake, Reject

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from cqc.compiler.catalog import Relation
    from cqc.runtime.intake import Taken

BLOCK_BYTES = 4 * 1024 * 1024
_BOM = "\ufeff"
_WHITE = " \t\r"
_scan = json.JSONDecoder().scan_once


def read_jsonl(relation: Relation, file: BinaryIO, name: str) -> Iterator[Taken]:
    """The rows of one file."""
    del name  # nothing in a file of this kind concerns the file as a whole
    intake = Intake(relation)
    for number, block in enumerate(line_blocks(file)):
        text = _decoded(block)
        yield _read_block(intake, text.removeprefix(_BOM) if number == 0 else text)


def line_blocks(file: BinaryIO, size: int = BLOCK_BYTES) -> Iterator[bytes]:
    """Blocks of whole lines, about `size` bytes each; a longer line is a block of its own."""
    rest: list[bytes] = []
    while chunk := file.read(size):
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest.append(chunk)
            continue
        yield b"".join([*rest, chunk[:end]])
        rest = [chunk[end:]]
    if last := b"".join(rest):
        yield last


def _decoded(block: bytes) -> str:
    """Text; bytes that are not UTF-8 become halves of surrogate pairs, which no column takes."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return block.decode(errors="surrogateescape")


def _read_block(intake: Intake, text: str) -> Taken:
    rows: list[dict[str, Any]] = []
    rejects: list[Reject] = []
    read = 0
    for line in text.split("\n"):
        trimmed = line.strip(_WHITE)
        if not trimmed:
            continue
        read += 1
        parsed = parse_line(trimmed)
        if isinstance(parsed, dict):
            rows.append(parsed)
        else:
            rejects.append(parsed)
    return intake.take_objects(rows, read, rejects)


def parse_line(line: str) -> dict[str, Any] | Reject:
    """The object of a line without white space around it, or why it is none."""
    try:
        value, end = _scan(line, 0)
    except (StopIteration, ValueError, RecursionError):
        return Reject(_why(line), {"line": line})
    if end != len(line):
        return Reject("not JSON", {"line": line})
    return value if isinstance(value, dict) else Reject("not an object", value)


def _why(line: str) -> str:
    try:
        line.encode()
    except UnicodeEncodeError:
        return "not UTF-8"
    return "not JSON"
