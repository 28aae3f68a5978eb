"""What a result of an alert says beside its row, as text by column: JSON, and one more column where rows are flat."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column, text_column
from cqc.runtime.deliver.alert_columns import STATES, text_of
from cqc.runtime.sinks.json_text import json_key, json_rows, json_times, json_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.deliver.results import ResultBlock


def json_alerts(block: ResultBlock, rows: NDArray[np.int64]) -> pa.StringArray:
    """`{"state": "firing", "severity": null, "key": {...}, "since": ..., "count": 1, ...}` for some rows of a block's columns."""
    assert block.alert is not None
    alert = block.alert.take(rows)
    severity = "null" if alert.severity is None else json_key(alert.severity)
    parts: list[Any] = [
        '{"state": "',
        pa.array(STATES).take(pa.array(alert.states)),
        f'", "severity": {severity}, "key": ',
        json_rows(alert.key_names, alert.key_columns, len(rows)),
        ', "since": ',
        json_times(alert.since_us, block.time_type),
        ', "count": ',
        pc.cast(pa.array(alert.counts), pa.string()),
    ]
    for text in alert.texts:
        parts.append(f", {json_key(text.name)}: ")
        parts.append(json_values(text_column(text_of(text, block.columns, rows))))
    return pc.binary_join_element_wise(*parts, "}", "")


def alert_label(names: Sequence[str]) -> str:
    """The name of the column beside the outputs, one that no output has."""
    return "alert" if "alert" not in {name.lower() for name in names} else "result_alert"


def flat(block: ResultBlock) -> ResultBlock:
    """A block whose rows have all that is told in columns: `alert` as JSON text after the outputs."""
    if block.alert is None:
        return block
    told = Column(ColumnType.STRING, json_alerts(block, block.positions()))
    return replace(
        block,
        names=(*block.names, alert_label(block.names)),
        columns=(*block.own_columns(), told),
        picks=None,
        alert=None,
    )
