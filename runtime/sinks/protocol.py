"""What every sink does, and what it may know beforehand about the queries it will serve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.sinks.alert_text import alert_label, flat

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Query
    from cqc.runtime.deliver.results import ResultBlock


class Sink(Protocol):
    """Where results go. Single-threaded; a micro-batch is written before the next one comes."""

    def write(self, blocks: Sequence[ResultBlock]) -> None:
        """Write the results of one micro-batch, in result-time order.

        Raises:
            OutputClosed: when the reader of the results has gone.
            RunError: when they cannot be written.
        """

    def close(self) -> None:
        """Write what is still held back, and let go of the files."""


@record
class Shape:
    """The result columns of a query."""

    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    time_type: ColumnType
    is_at: bool


def shape_of_query(query: Query) -> Shape:
    """The shape of a query's results."""
    names = tuple(output.name for output in query.outputs)
    types = tuple(output.expression.type for output in query.outputs)
    if query.alert is not None:
        names, types = (*names, alert_label(names)), (*types, ColumnType.STRING)
    return Shape(
        names,
        types,
        _time_type(query),
        query.pull is not None or (query.decided is not None and query.decided.is_at),
    )


def _time_type(query: Query) -> ColumnType:
    """How the streams of a query count time, or those beneath the views whose rows it reads."""
    if query.stream_items:
        return query.items[query.stream_items[0]].relation.time_type
    views = [item.relation.view for item in query.items if item.relation.view is not None]
    beneath = [branch for view in views for branch in view.branches]
    return next((_time_type(each) for each in beneath), ColumnType.TIMESTAMP)


def shape_of_block(block: ResultBlock) -> Shape:
    """The shape that a block shows."""
    block = flat(block)
    types = tuple(column.type for column in block.columns)
    return Shape(block.names, types, block.time_type, block.is_at)


def time_label(shape: Shape) -> str:
    """The name of the time column beside the outputs, one that no output has."""
    label = "at" if shape.is_at else "ts"
    taken = {name.lower() for name in shape.names}
    return label if label not in taken else f"result_{label}"
