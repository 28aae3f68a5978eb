"""Events as files: JSON lines and Parquet, one file a stream, and all streams as one in the order of time.

A line has only what is there: NULL is a key that is missing, as log shippers write it.
"""

from __future__ import annotations

from json import JSONEncoder
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from cqc.benchmarks.engine.rules.workload.streams import WIDE, wide_columns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cqc.benchmarks.engine.rules.workload.events import Events

_ROW_GROUP = 65_536
_PART = 200_000  # rows that are put into text at a time
_TIME = pa.timestamp("us", "UTC")


def write_json(events: Mapping[str, Events], folder: Path) -> None:
    """One file a stream."""
    for name, each in events.items():
        with (folder / f"{name}.jsonl").open("wb") as file:
            for start in range(0, len(each), _PART):
                _write(file, _lines(each, slice(start, start + _PART)))


def write_wide_json(events: Mapping[str, Events], folder: Path) -> None:
    """One file of all streams, in the order of time; every line says of which stream it is."""
    lines = [_lines(each, slice(None), category=True) for each in events.values()]
    everything = pa.chunked_array(lines)
    order = _in_time_order(events)
    with (folder / f"{WIDE}.jsonl").open("wb") as file:
        for start in range(0, len(order), _PART):
            taken = everything.take(pa.array(order[start : start + _PART]))
            for chunk in taken.chunks:
                _write(file, chunk)


def _in_time_order(events: Mapping[str, Events]) -> Any:
    """Where the rows of all streams, one stream after the other, go; no stream's own order changes."""
    times = np.concatenate([np.maximum.accumulate(each.ts_us) for each in events.values()])
    return np.argsort(times, kind="stable")


def _write(file: Any, lines: Any) -> None:
    """Text values, one after the other, as they are in memory."""
    places = np.frombuffer(lines.buffers()[1], np.int64)
    first, last = places[lines.offset], places[lines.offset + len(lines)]
    file.write(memoryview(lines.buffers()[2])[first:last])


def _lines(events: Events, part: slice, *, category: bool = False) -> Any:
    times = pc.strftime(pa.array(events.ts_us[part]).cast(_TIME), "%Y-%m-%dT%H:%M:%S")
    head = f'{{"category":"{events.name}","ts":"' if category else '{"ts":"'
    pieces = [
        pa.scalar(head, pa.large_string()),
        _milliseconds(times),
        pa.scalar('"', pa.large_string()),
    ]
    encode = JSONEncoder(ensure_ascii=False).encode
    for name, column in events.columns.items():
        written = [f',"{name}":{encode(value)}' for value in column.values]
        codes = column.codes[part]
        values = pa.array([*written, ""], pa.large_string())
        pieces.append(values.take(pa.array(np.where(codes < 0, len(written), codes))))
    pieces.append(pa.scalar("}\n", pa.large_string()))
    return pc.binary_join_element_wise(*pieces, pa.scalar("", pa.large_string()))


def _milliseconds(times: Any) -> Any:
    """`2024-05-01T08:00:00.123000` as `2024-05-01T08:00:00.123Z`."""
    cut = pc.utf8_slice_codeunits(times, 0, 23).cast(pa.large_string())
    return pc.binary_join_element_wise(
        cut, pa.scalar("Z", pa.large_string()), pa.scalar("", pa.large_string())
    )


def table_of(events: Events) -> Any:
    """A stream as an Arrow table of plain text columns."""
    columns = {"ts": pa.array(events.ts_us).cast(_TIME)}
    for name, column in events.columns.items():
        codes = pa.array(column.codes, mask=column.codes < 0)
        columns[name] = pa.array(column.values, pa.string()).take(codes)
    return pa.table(columns)


def write_parquet(events: Mapping[str, Events], folder: Path) -> None:
    """One file a stream."""
    for name, each in events.items():
        pq.write_table(table_of(each), folder / f"{name}.parquet", row_group_size=_ROW_GROUP)


def write_wide_parquet(events: Mapping[str, Events], folder: Path) -> None:
    """One file of all streams, in the order of time."""
    names = wide_columns()
    schema = pa.schema([(name, _TIME if name == "ts" else pa.string()) for name in names])
    order = _in_time_order(events)
    parts = []
    for name, each in events.items():
        table = table_of(each)
        category = pa.repeat(pa.scalar(name), len(each))
        table = table.append_column("category", category)
        parts.append(table.select([name for name in names if name in table.column_names]))
    everything = pa.concat_tables(parts, promote_options="default").select(names).cast(schema)
    with pq.ParquetWriter(folder / f"{WIDE}.parquet", schema) as writer:
        for start in range(0, len(order), _ROW_GROUP):
            writer.write_table(everything.take(pa.array(order[start : start + _ROW_GROUP])))
