"""What PSoup's experiments ran: tuples of uniform attributes, selections of one to four predicates, two-stream joins.

Attributes are uniform in 0..255. An equality query compares attributes with constants; an interval query has two
inequalities over each attribute, the interval's size uniform in 0..255. Event time is the tuple's number, so a window of n
tuples is a window of n seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    Comparison = Callable[[Any, int], Any]

ATTRIBUTES = ("a", "b", "c", "d")
VALUES = 256
_FUNCTIONS: dict[str, Comparison] = {"=": np.equal, ">=": np.greater_equal, "<=": np.less_equal}
STREAMS = """
CREATE STREAM r (ts BIGINT, a BIGINT, b BIGINT, c BIGINT, d BIGINT, x DOUBLE);
CREATE STREAM s (ts BIGINT, a BIGINT, b BIGINT, c BIGINT, d BIGINT, x DOUBLE);
"""


def tuples(count: int, seed: int, first: int = 0) -> pa.Table:
    """Tuples of one stream, in order."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, VALUES, count) for name in ATTRIBUTES}
    return pa.table({"ts": np.arange(first, first + count), **columns, "x": rng.random(count)})


def batches(table: pa.Table, size: int) -> Sequence[pa.Table]:
    """The tuples cut into micro-batches."""
    return [table.slice(start, size) for start in range(0, len(table), size)]


def window(seconds: int) -> str:
    """A sliding window of so many tuples."""
    return f"BEGIN AFTER NOW - {seconds} END NOW"


def equalities(rng: Random, predicates: int) -> str:
    """A condition of equality predicates."""
    return " AND ".join(
        f"{name} = {rng.randrange(VALUES)}" for name in rng.sample(ATTRIBUTES, predicates)
    )


def intervals(rng: Random, predicates: int) -> str:
    """A condition of interval predicates, each two inequalities."""
    parts = []
    for name in rng.sample(ATTRIBUTES, predicates):
        low = rng.randrange(VALUES)
        parts.append(f"{name} >= {low} AND {name} <= {min(low + rng.randrange(VALUES), VALUES)}")
    return " AND ".join(parts)


def comparisons(condition: str) -> list[tuple[str, Comparison, int]]:
    """The comparisons of such a condition: attribute, NumPy's function, constant."""
    found = re.findall(r"(\w) (>=|<=|=) (\d+)", condition)
    return [(name, _FUNCTIONS[sign], int(constant)) for name, sign, constant in found]


def selection(condition: str, clause: str) -> str:
    """A selection over one stream; `clause` is its BEGIN-END, or nothing."""
    return f"SELECT ts, a, b FROM r WHERE {condition} {clause}".strip()


def inequality_join(rng: Random, clause: str) -> str:
    """The paper's join of two streams: one attribute of each against a constant, and the two against each other."""
    low, high = rng.randrange(VALUES), rng.randrange(VALUES)
    return (
        "SELECT r.ts AS left_ts, s.ts AS right_ts FROM r, s "
        f"WHERE r.a > {low} AND r.a < s.b AND s.b < {high} {clause}"
    ).strip()
