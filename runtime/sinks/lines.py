"""Result lines: the blocks of a micro-batch as lines of text, in result-time order.

Rows that several queries picked are rendered once. Blocks that share columns, names and kind form a *family*; everything
about a family is done with a handful of kernels, whatever the number of its queries, so ten thousand queries with one result
each cost no more than one query with ten thousand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.runtime.columns.columns import Column, take
from cqc.runtime.deliver.results import ResultBlock, merge
from cqc.runtime.sinks.alert_text import json_alerts
from cqc.runtime.sinks.json_text import json_key, json_rows, json_times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.types import ColumnType

LINES_AT_ONCE = 200_000  # bounds the text in memory; more does not make it faster


@record
class LineStyle:
    """How a line is put together: head, time, middle, row, and a line end.

    `alerts` is what stands before the line end where the block is of an alert; with `alert_first` before the row, in the place of the middle.
    """

    head: Callable[[ResultBlock], str]
    middle: Callable[[ResultBlock], str]
    end: str
    times: Callable[[NDArray[np.int64], ColumnType], pa.StringArray]
    rows: Callable[[Sequence[str], Sequence[Column], int], pa.StringArray]
    alerts: Callable[[ResultBlock, NDArray[np.int64]], pa.StringArray] | None = None
    alert_first: bool = False


def _json_head(block: ResultBlock) -> str:
    label = "at" if block.is_at else "ts"
    return f'{{"query": {json_key(block.query)}, "{label}": '


def _json_alerts(block: ResultBlock, rows: NDArray[np.int64]) -> pa.StringArray:
    return pc.binary_join_element_wise(', "alert": ', json_alerts(block, rows), "")


JSON_LINES = LineStyle(
    _json_head, lambda block: ', "row": ', "}\n", json_times, json_rows, _json_alerts
)
# Lines to which something is added, and then the last brace.
OPEN_LINES = LineStyle(
    _json_head, lambda block: ', "row": ', "", json_times, json_rows, _json_alerts
)


def result_lines(
    blocks: Sequence[ResultBlock], style: LineStyle = JSON_LINES
) -> Iterator[memoryview]:
    """The lines of one micro-batch, as pieces of UTF-8 text that end with a line end."""
    for lines in line_arrays(blocks, style):
        yield text_of(lines)


def line_arrays(
    blocks: Sequence[ResultBlock], style: LineStyle = JSON_LINES
) -> Iterator[pa.StringArray]:
    """The same, a text for each result."""
    blocks = [block for block in blocks if len(block)]
    block_of, place = merge(blocks)
    for start in range(0, len(block_of), LINES_AT_ONCE):
        stop = start + LINES_AT_ONCE
        yield _lines(blocks, block_of[start:stop], place[start:stop], style)


def _lines(
    blocks: Sequence[ResultBlock],
    block_of: NDArray[np.int64],
    place: NDArray[np.int64],
    style: LineStyle,
) -> pa.StringArray:
    families = _families(blocks)
    if len(set(families)) == 1:
        return _family_lines(blocks, block_of, place, style)
    family_of = np.array(families)[block_of]
    parts, rows = [], []
    for family in np.unique(family_of):
        own = np.flatnonzero(family_of == family)
        rows.append(own)
        parts.append(_family_lines(blocks, block_of[own], place[own], style))
    order = np.empty(len(block_of), dtype=np.int64)
    order[np.concatenate(rows)] = np.arange(len(block_of))
    return pa.concat_arrays(parts).take(pa.array(order))


def _families(blocks: Sequence[ResultBlock]) -> list[int]:
    """The number of each block's family."""
    numbers: dict[tuple[object, ...], int] = {}
    return [
        numbers.setdefault(
            (id(block.columns), block.names, block.is_at, block.time_type, *_told(block)),
            len(numbers),
        )
        for block in blocks
    ]


def _told(block: ResultBlock) -> tuple[object, ...]:
    """What alerts of one family have in common."""
    alert = block.alert
    if alert is None:
        return ()
    return alert.severity, alert.texts, alert.key_names, id(alert.states)


def _family_lines(
    blocks: Sequence[ResultBlock],
    block_of: NDArray[np.int64],
    place: NDArray[np.int64],
    style: LineStyle,
) -> pa.StringArray:
    used, local = np.unique(block_of, return_inverse=True)
    mine = [blocks[at] for at in used.tolist()]
    first = mine[0]
    starts = np.cumsum([0, *(len(block) for block in mine)])[:-1]
    flat = starts[local] + place
    positions = np.concatenate([block.positions() for block in mine])[flat]
    times = np.concatenate([block.times_us for block in mine])[flat]
    heads = pa.array([style.head(block) for block in mine])
    if first.alert is not None and style.alerts is not None:
        told, rows = style.alerts(first, positions), _row_texts(positions, first, style)
        middle = (told, rows) if style.alert_first else (style.middle(first), rows, told)
        times_of = _time_texts(times, first, style)
        return pc.binary_join_element_wise(
            heads.take(pa.array(local)), times_of, *middle, style.end, ""
        )
    return pc.binary_join_element_wise(
        heads.take(pa.array(local)),
        _time_texts(times, first, style),
        style.middle(first),
        _row_texts(positions, first, style),
        style.end,
        "",
    )


def _time_texts(
    times_us: NDArray[np.int64], block: ResultBlock, style: LineStyle
) -> pa.StringArray:
    """Each distinct time is rendered once: in result-time order equal ones are together."""
    changes = np.flatnonzero(np.concatenate([[True], times_us[1:] != times_us[:-1]]))
    texts = style.times(times_us[changes], block.time_type)
    if len(changes) == len(times_us):
        return texts
    runs = np.diff(np.concatenate([changes, [len(times_us)]]))
    return texts.take(pa.array(np.repeat(np.arange(len(changes)), runs)))


def _row_texts(
    positions: NDArray[np.int64], block: ResultBlock, style: LineStyle
) -> pa.StringArray:
    """Each picked row is rendered once, however many lines show it."""
    length = len(block.columns[0]) if block.columns else int(positions.max()) + 1
    if len(positions) == length and (positions == np.arange(length)).all():
        return style.rows(block.names, block.columns, length)
    picked = np.zeros(length, dtype=np.bool_)
    picked[positions] = True
    rows = np.flatnonzero(picked)
    texts = style.rows(block.names, [take(column, rows) for column in block.columns], len(rows))
    return texts.take(pa.array(np.searchsorted(rows, positions)))


def text_of(lines: pa.StringArray) -> memoryview:
    """The bytes of an array of text without NULLs, one after the other, without copying."""
    _, offsets, data = lines.buffers()
    first, last = np.frombuffer(offsets, dtype=np.int32)[[lines.offset, lines.offset + len(lines)]]
    return memoryview(data)[int(first) : int(last)]
