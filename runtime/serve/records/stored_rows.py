"""Typed rows of several streams as bytes, each an Arrow stream, and back."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.columns.convert.arrow_out import to_arrow
from cqc.runtime.intake.typed_batch import Absent, Intake, TypedBatch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.runtime.intake.stream_input import StreamInput

Head = dict[str, Any]


def write_rows(
    lines: Mapping[str, StreamInput], rows: Mapping[str, TypedBatch]
) -> tuple[Head, bytes]:
    """By folded name how much of the bytes is the stream's, and what was read and rejected; then the bytes."""
    head: Head = {}
    parts: list[bytes] = []
    for name, taken in rows.items():
        relation = lines[fold(name)].relation
        table = pa.Table.from_arrays(
            [to_arrow(column) for column in taken.columns[: len(relation.declared)]],
            names=[column.name for column in relation.declared],
        )
        data = _stream_bytes(table)
        parts.append(data)
        reasons = Counter(reject.reason for reject in taken.rejects)
        head[fold(name)] = {
            "bytes": len(data),
            "read": taken.read,
            "rejected": len(taken.rejects),
            "reasons": reasons,
            "nulled": taken.nulled or {},
            "absent": None if taken.absent is None else sorted(taken.absent.columns),
        }
    return head, b"".join(parts)


def read_rows(lines: Mapping[str, StreamInput], head: Head, data: bytes) -> dict[str, TypedBatch]:
    """The rows that `write_rows` wrote; rejected rows are not among them, but they are counted as read."""
    rows: dict[str, TypedBatch] = {}
    at = 0
    for name, each in head.items():
        part = data[at : at + each["bytes"]]
        at += each["bytes"]
        taken = Intake(lines[name].relation).take(pa.ipc.open_stream(part).read_all())
        absent = each.get("absent")
        rows[name] = replace(
            taken,
            read=each["read"],
            nulled=Counter(each["nulled"]) if each.get("nulled") else None,
            absent=Absent(frozenset(absent), "") if absent else None,
        )
    return rows


def _stream_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
