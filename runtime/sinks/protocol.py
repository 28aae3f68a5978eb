"""What every sink does, and what it may know beforehand about the queries it will serve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.types import ColumnType
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


@dataclass(frozen=True, slots=True)
class Shape:
    """The result columns of a query."""

    names: tuple[str, ...]
    types: tuple[ColumnType, ...]
    time_type: ColumnType
    is_at: bool


def shape_of_query(query: Query) -> Shape:
    """The shape of a query's results."""
    relation = query.items[query.stream_items[0]].relation
    return Shape(
        tuple(output.name for output in query.outputs),
        tuple(output.expression.type for output in query.outputs),
        relation.time_type,
        query.pull is not None,
    )


def shape_of_block(block: ResultBlock) -> Shape:
    """The shape that a block shows."""
    types = tuple(column.type for column in block.columns)
    return Shape(block.names, types, block.time_type, block.is_at)


def time_label(shape: Shape) -> str:
    """The name of the time column beside the outputs, one that no output has."""
    label = "at" if shape.is_at else "ts"
    taken = {name.lower() for name in shape.names}
    return label if label not in taken else f"result_{label}"
