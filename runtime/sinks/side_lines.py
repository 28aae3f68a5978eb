"""Rows that are no results: rejected and late ones, as JSON lines for `--rejects` and `--late`.

{"stream": "B", "reason": "pressure is not a DOUBLE", "row": {"ts": "2024-01-01", "pressure": "high"}}
"""

from __future__ import annotations

import json
import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.sinks.json_text import json_key, json_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.intake.typed_batch import Reject

_MOST_LEVELS = 100  # of a row that are shown; a line of a log may have a thousand
_NOT_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


def reject_lines(relation: Relation, rejects: Sequence[Reject]) -> bytes:
    """Rejected rows, one object a line."""
    lines = [
        json.dumps(
            {"stream": relation.name, "reason": reject.reason, "row": plain(reject.row)},
            ensure_ascii=False,
        )
        for reject in rejects
    ]
    # Half a surrogate pair stands for a byte that was not UTF-8; it is shown as a question mark.
    return "".join(f"{line}\n" for line in lines).encode(errors="replace")


def late_lines(relation: Relation, packet: Packet) -> bytes:
    """Late tuples, one object a line."""
    if not len(packet):
        return b""
    names = [column.name for column in relation.declared]
    rows = json_rows(names, packet.columns, len(packet))
    head = f'{{"stream": {json_key(relation.name)}, "reason": "late", "row": '
    lines = pc.binary_join_element_wise(pa.scalar(head), rows, "}\n", "")
    return "".join(lines.to_pylist()).encode()


def plain(value: Any, levels: int = _MOST_LEVELS) -> Any:
    """A value from outside as something JSON has; what is inside more than so many others is shown as three dots."""
    if isinstance(value, dict | list | tuple) and not levels:
        return "..."
    if isinstance(value, dict):
        return {str(key): plain(inner, levels - 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner, levels - 1) for inner in value]
    if isinstance(value, datetime):
        return _iso_utc(value)
    if isinstance(value, date | Decimal):
        return str(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else _NOT_FINITE.get(float(value), "NaN")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value)


def _iso_utc(value: datetime) -> str:
    """A datetime as results write it; one without a zone is UTC."""
    in_utc = value.astimezone(UTC) if value.tzinfo else value
    return f"{in_utc.replace(tzinfo=None).isoformat()}Z"
