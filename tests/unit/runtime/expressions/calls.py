"""A call over columns of Python values, with the number of evaluations that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cqc
from cqc.runtime.columns.columns import from_python, to_python
from cqc.runtime.expressions.compile.compile_expression import compile_expression

if TYPE_CHECKING:
    from collections.abc import Sequence

STREAM = "CREATE STREAM s (ts BIGINT, i BIGINT, d DOUBLE, t STRING, u STRING, f BOOLEAN);"
NAMES = ("ts", "i", "d", "t", "u", "f")


def evaluate(call: str, **values: Sequence[Any]) -> tuple[list[Any], int]:
    """What a call gives on rows, and how many evaluations failed; columns that are not given are NULL."""
    program = cqc.compile(f"{STREAM} SELECT {call} AS v FROM s;")
    (output,) = program.queries["q1"].outputs
    rows = max((len(column) for column in values.values()), default=1)
    columns = [
        from_python(column.type, values.get(column.name, [None] * rows))
        for column in program.catalog.relations["s"].columns
    ]
    compiled = compile_expression(output.expression)
    return to_python(compiled.run(lambda _, at: columns[at], rows)), compiled.failures
