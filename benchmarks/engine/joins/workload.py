"""Three-way window joins: R(ts,a,x), S(ts,a,b,x), T(ts,b,x) with R.a = S.a AND S.b = T.b, for M queries.

Each query has its own constants on x and its own relative windows within the common one. Keys are drawn so that a tuple has
about one partner within the window. A query is data here, so that every engine gets the same one in its own language.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECOND_US = 1_000_000
COLUMNS = {"R": ("ts", "a", "x"), "S": ("ts", "a", "b", "x"), "T": ("ts", "b", "x")}


@dataclass(frozen=True)
class Query:
    """R.x >= least[0], S.x >= least[1], T.x >= least[2]; S at most `s_after_r_s` after R, T at most `t_after_s_s` after S."""

    least: tuple[int, int, int]
    s_after_r_s: int
    t_after_s_s: int
    window_s: int


def make_queries(count: int, window_s: int, seed: int = 7) -> list[Query]:
    """Queries with constants and windows of their own."""
    random = np.random.default_rng(seed)
    queries = []
    for _ in range(count):
        first, second, third = (int(each) for each in random.integers(0, 500, 3))
        after = random.integers(1, window_s + 1, 2)
        queries.append(Query((first, second, third), int(after[0]), int(after[1]), window_s))
    return queries


def make_streams(
    tuples: int, rate: int, window_s: int, seed: int = 1
) -> dict[str, dict[str, NDArray[np.int64]]]:
    """The three streams by column; event times in microseconds, in order; x from 0 to 999."""
    random = np.random.default_rng(seed)
    keys = 2 * rate * window_s  # a partner may be one window before or after
    streams: dict[str, dict[str, NDArray[np.int64]]] = {}
    for name, (_, *columns) in COLUMNS.items():
        streams[name] = {"ts": np.sort(random.integers(0, tuples * SECOND_US // rate, tuples))}
        for column in columns:
            streams[name][column] = random.integers(0, 1000 if column == "x" else keys, tuples)
    return streams


def program(queries: list[Query]) -> str:
    """The queries in the cq language, with the declarations of the streams."""
    lines = []
    for name, (ts, *columns) in COLUMNS.items():
        declared = ", ".join(f"{column} BIGINT" for column in columns)
        lines.append(f"CREATE STREAM {name} ({ts} TIMESTAMP, {declared});")
    return "\n".join([*lines, *(_text(query) for query in queries)])


def _text(query: Query) -> str:
    first, second, third = query.least
    return (
        "SELECT R.x AS rx, S.x AS sx, T.x AS tx FROM R, S, T WHERE R.a = S.a AND S.b = T.b "
        f"AND R.x >= {first} AND S.x >= {second} AND T.x >= {third} "
        f"WINDOW S.ts - R.ts <= {query.s_after_r_s} SEC AND T.ts - S.ts <= {query.t_after_s_s} SEC "
        f"MAXWINDOW {query.window_s} SEC;"
    )


def sql(query: Query, *, rows: bool) -> str:
    """The query as a batch statement that gives its rows, or counts them; `ts` in microseconds."""
    first, second, third = query.least
    window = query.window_s * SECOND_US
    selected = "R.x AS rx, S.x AS sx, T.x AS tx" if rows else "count(*)"
    return (
        f"SELECT {selected} FROM R, S, T WHERE R.a = S.a AND S.b = T.b "
        f"AND R.x >= {first} AND S.x >= {second} AND T.x >= {third} "
        f"AND S.ts - R.ts <= {query.s_after_r_s * SECOND_US} AND T.ts - S.ts <= {query.t_after_s_s * SECOND_US} "
        f"AND abs(S.ts - R.ts) <= {window} AND abs(T.ts - S.ts) <= {window} AND abs(T.ts - R.ts) <= {window}"
    )
