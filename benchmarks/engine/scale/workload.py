"""Programs over the stream of eight whole-number attributes whose tuples mostly stay where they are read."""

from __future__ import annotations

from cqc.benchmarks.engine.spark.workload import HIGHEST, SCHEMA, program_text, range_queries

PASSING = 0.01  # of the tuples
KEY_COLUMN = "c1"
CUT_COLUMN = "c0"


def filter_program(queries: int) -> str:
    """Queries over one stream, each wanting about one tuple in a thousand."""
    return program_text(range_queries(queries))


def join_program(queries: int) -> str:
    """Keyed joins of the stream with itself; together their filters pass one tuple in a hundred."""
    width = max(round(HIGHEST * PASSING / queries), 1)
    selects = [
        f"SELECT x.ts AS first, y.ts AS second FROM s x, s y WHERE x.{KEY_COLUMN} = y.{KEY_COLUMN}"
        f" AND x.{CUT_COLUMN} BETWEEN {at * width} AND {(at + 1) * width - 1}"
        f" AND y.{CUT_COLUMN} BETWEEN {at * width} AND {(at + 1) * width - 1}"
        " WINDOW x.ts < y.ts MAXWINDOW 500000 SEC;"
        for at in range(queries)
    ]
    return "\n".join([f"CREATE STREAM s ({SCHEMA});", *selects])
