"""cqc's part: `python -m cqc.benchmarks.engine.values.measure SECONDS`; prints one JSON object.

A function is one compiled expression that runs over the columns of one packet, again and again: what its node costs in a running engine.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import cqc
from cqc.benchmarks.engine.values.timing import typical_ns
from cqc.benchmarks.engine.values.workload import DECLARED, ROWS, cases, packet
from cqc.compiler.meaning.types import DecimalType
from cqc.runtime.columns.nested import nested_of
from cqc.runtime.columns.sortable_columns import digits_of
from cqc.runtime.expressions.compile.compile_expression import compile_expression
from cqc.runtime.intake.typed_batch import Intake

if TYPE_CHECKING:
    from cqc.runtime.columns.columns import Column


def functions(seconds: float) -> dict[str, float]:
    """Nanoseconds a value of each call."""
    program = cqc.compile(f"CREATE STREAM s ({DECLARED}); SELECT ts FROM s;")
    columns = columns_of(program)
    found = {}
    for case in cases():
        query = program.bind_one(f"SELECT {case.call} AS v FROM s", name="v")
        compiled = compile_expression(query.outputs[0].expression)

        def run(compiled: Any = compiled) -> None:
            made = compiled.run(lambda _, at: columns[at], ROWS)
            _ = values_of(made)

        found[case.name] = typical_ns(run, ROWS, seconds)
    return found


def values_of(column: Column) -> Any:
    """What the next operator reads of a column: arrays of lists and structs, digits of DECIMAL, else values."""
    if column.type.is_nested:
        return nested_of(column)
    return digits_of(column) if isinstance(column.type, DecimalType) else column.values


def columns_of(program: cqc.Program) -> list[Any]:
    """The packet as the engine has it."""
    taken = Intake(program.catalog.relations["s"]).take_arrow(packet())
    if taken.rejects:
        raise RuntimeError(f"rejected: {taken.rejects[0]}")
    return list(taken.columns)


if __name__ == "__main__":
    began = time.process_time()
    made = functions(float(sys.argv[1]))
    print(json.dumps({"cpu_s": time.process_time() - began, "ns": made}))
