"""What a result of an alert says beside its row: state, severity, key, since when, how often, and the texts of WITH."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from cqc.compiler.diagnostics.record import record
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.meaning.bound import Cast, ColumnRef
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import take
from cqc.runtime.expressions.compile.compile_expression import compile_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.compiler.meaning.alerts import Text
    from cqc.runtime.columns.columns import Column

_NOWHERE = Span(SourceFile("", ""), 0, 0)
STATES = ("pending", "firing", "repeated", "resolved", "no_data")


@record
class AlertColumns:
    """Beside the output columns of a block, row by row; severity and texts are those of the whole block."""

    severity: str | None
    texts: tuple[Text, ...]
    key_names: tuple[str, ...]
    key_columns: tuple[Column, ...]
    states: NDArray[np.int64]  # numbers of STATES
    since_us: NDArray[np.int64]
    counts: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64]) -> AlertColumns:
        """Some rows."""
        return AlertColumns(
            self.severity,
            self.texts,
            self.key_names,
            tuple(take(column, rows) for column in self.key_columns),
            self.states[rows],
            self.since_us[rows],
            self.counts[rows],
        )


def text_of(text: Text, columns: Sequence[Column], rows: NDArray[np.int64]) -> pa.StringArray:
    """A text of WITH for some rows of the output columns."""
    if not text.outputs:
        return pa.repeat(pa.scalar(text.pieces[0]), len(rows))
    parts: list[Any] = [pa.scalar(text.pieces[0])]
    for at, piece in zip(text.outputs, text.pieces[1:], strict=True):
        parts += [_as_text(take(columns[at], rows)), pa.scalar(piece)]
    return pc.binary_join_element_wise(*parts, "")


def _as_text(column: Column) -> pa.StringArray:
    """CAST of each value to STRING; NULL is `null`."""
    if column.type is not ColumnType.STRING:
        written = compile_expression(
            Cast(ColumnRef(0, 0, column.type, _NOWHERE), ColumnType.STRING, _NOWHERE)
        )
        column = written.run(lambda _item, _column: column, len(column))
    return pc.fill_null(column.values, "null")
