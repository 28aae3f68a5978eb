"""The aggregates. Rows in which the argument is NULL do not count, and DISTINCT goes with each of them.

Examples are over one group of four rows, `EXAMPLE_ROWS`. The kernels are in the runtime, by `bound.AggregateFunction`.
"""

from __future__ import annotations

from cqc.compiler.functions.argument_rules import ANY_COLUMN, NUMBER
from cqc.compiler.functions.entry import AggregateEntry, first_type, one
from cqc.compiler.functions.sql_forms import for_bigint
from cqc.compiler.meaning.types import ColumnType

EXAMPLE_COLUMNS = {"x": ColumnType.BIGINT, "name": ColumnType.STRING}
EXAMPLE_ROWS: tuple[tuple[int | None, str], ...] = ((4, "d"), (1, "a"), (4, "e"), (None, "b"))

AGGREGATES = (
    AggregateEntry(
        "count",
        (one("x", ANY_COLUMN),),
        ColumnType.BIGINT,
        "How many values are not NULL; `COUNT(*)` counts rows.",
        ("COUNT(x)", 3),
    ),
    AggregateEntry(
        "sum",
        (one("x", NUMBER),),
        first_type,
        "The sum, exact for BIGINT; NULL where no value is, and where BIGINT does not hold the total.",
        ("SUM(x)", 9),
        duckdb=for_bigint("TRY_CAST(sum({distinct}{0}) AS BIGINT)"),
        spark=for_bigint("try_cast(sum({distinct}CAST({0} AS DECIMAL(20, 0))) AS BIGINT)"),
    ),
    AggregateEntry(
        "avg",
        (one("x", NUMBER),),
        ColumnType.DOUBLE,
        "The mean; NULL where no value is.",
        ("AVG(x)", 3.0),
    ),
    AggregateEntry(
        "min",
        (one("x", ANY_COLUMN),),
        first_type,
        "The least value; NULL where no value is. NaN is above every number.",
        ("MIN(name)", "a"),
    ),
    AggregateEntry(
        "max",
        (one("x", ANY_COLUMN),),
        first_type,
        "The greatest value; NULL where no value is. NaN is above every number.",
        ("MAX(x)", 4),
    ),
)
