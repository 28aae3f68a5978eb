"""Theta joins with relative windows over four streams of an intensive care unit (Juggler, chapters 3 and 5).

B (blood), T (temperature), H (heart) and K (kidney) each deliver `rate` tuples a second. A query joins two to four of them by
comparisons of their columns, within a few seconds and in a given order of time. `overlap` percent of the comparisons of a
query are of shapes that all queries use, with constants of their own; the others are of varying shapes.

A query is data here, so that every engine gets the same one in its own language.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECOND_US = 1_000_000
COLUMNS = {
    "B": ("ts", "pressure", "temp"),
    "T": ("ts", "fluct", "deg"),
    "H": ("ts", "beatrate", "vib"),
    "K": ("ts", "fluid", "flow"),
}
_FROM = (("B", "H"), ("B", "T", "H"), ("T", "H"), ("B", "H", "K", "T"))


@dataclass(frozen=True)
class Filter:
    """`item.column op constant`."""

    item: str
    column: str
    op: str
    constant: float


@dataclass(frozen=True)
class Theta:
    """`left.left_column op scale * right.right_column + offset`."""

    left: str
    left_column: str
    op: str
    scale: float
    right: str
    right_column: str
    offset: float


@dataclass(frozen=True)
class TimeOrder:
    """`late.ts - early.ts` is between 0 and `within_us`."""

    early: str
    late: str
    within_us: int


@dataclass(frozen=True)
class Query:
    """One query, in no particular language. All tuples lie within `max_window_us`."""

    items: tuple[str, ...]
    filters: tuple[Filter, ...]
    thetas: tuple[Theta, ...]
    orders: tuple[TimeOrder, ...]
    max_window_us: int


def make_streams(
    tuples: int, rate: int, seed: int = 1
) -> dict[str, dict[str, NDArray[np.generic]]]:
    """The four streams, by column; event times in microseconds, in order."""
    random = np.random.default_rng(seed)
    streams: dict[str, dict[str, NDArray[np.generic]]] = {}
    for name, (_, first, second) in COLUMNS.items():
        ts = np.sort(random.integers(0, tuples * SECOND_US // rate, tuples))
        streams[name] = {
            "ts": ts,
            first: np.round(random.normal(100.0, 15.0, tuples), 3),
            second: np.round(random.normal(100.0, 15.0, tuples), 3),
        }
    return streams


def make_queries(count: int, overlap: int, seed: int = 2) -> list[Query]:
    """Queries of which `overlap` percent of the comparisons are of common shapes."""
    random = np.random.default_rng(seed)
    return [_query(number, overlap, random) for number in range(count)]


def _query(number: int, overlap: int, random: np.random.Generator) -> Query:
    items = _FROM[number % len(_FROM)]
    filters, thetas, orders = [], [], []
    for item in items:
        column = COLUMNS[item][1]
        filters.append(Filter(item, column, ">", float(np.round(random.uniform(110.0, 118.0), 2))))
    for left, right in pairwise(items):
        shared = random.uniform(0, 100) < overlap
        thetas.append(_common(left, right, random) if shared else _varied(left, right, random))
        within = int(random.integers(20, 60)) * SECOND_US // 10
        orders.append(TimeOrder(left, right, within))
    return Query(items, tuple(filters), tuple(thetas), tuple(orders), 6 * SECOND_US)


def _common(left: str, right: str, random: np.random.Generator) -> Theta:
    scale = float(np.round(random.uniform(0.65, 0.75), 3))
    return Theta(left, COLUMNS[left][2], "<", scale, right, COLUMNS[right][2], 0.0)


def _varied(left: str, right: str, random: np.random.Generator) -> Theta:
    """One of several shapes, about as selective as the common one: a few percent of the pairs."""
    op = ("<", "<=", ">", ">=")[int(random.integers(0, 4))]
    away = float(np.round(random.uniform(30.0, 45.0), 1))
    scale = 1.0
    if random.integers(0, 2):
        scale = float(np.round(random.uniform(0.95, 1.05), 3))
    offset = -away if op[0] == "<" else away
    return Theta(left, COLUMNS[left][2], op, scale, right, COLUMNS[right][2], offset)


def one_list(count: int) -> list[Query]:
    """Queries that differ in one constant of one comparison: a single predicate list."""
    filters = (Filter("B", "pressure", ">", 110.0), Filter("H", "beatrate", ">", 110.0))
    orders = (TimeOrder("B", "H", 4 * SECOND_US),)
    return [
        Query(
            ("B", "H"),
            filters,
            (Theta("B", "temp", "<", scale, "H", "vib", 0.0),),
            orders,
            6 * SECOND_US,
        )
        for scale in np.linspace(0.5, 0.9, count).tolist()
    ]


def program(queries: list[Query]) -> str:
    """The queries in the cq language, with the declarations of the streams."""
    lines = []
    for name, (ts, *columns) in COLUMNS.items():
        declared = ", ".join(f"{column} DOUBLE" for column in columns)
        lines.append(f"CREATE STREAM {name} ({ts} TIMESTAMP, {declared});")
    return "\n".join([*lines, *(_text(query) for query in queries)])


def _text(query: Query) -> str:
    selected = ", ".join(f"{item}.ts AS {item}_ts" for item in query.items)
    where = [f"{each.item}.{each.column} {each.op} {each.constant}" for each in query.filters]
    where += [f"{each.left}.{each.left_column} {each.op} {_scaled(each)}" for each in query.thetas]
    window = [
        f"{each.late}.ts BETWEEN {each.early}.ts AND {each.early}.ts + {each.within_us} US"
        for each in query.orders
    ]
    return (
        f"SELECT {selected} FROM {', '.join(query.items)} WHERE {' AND '.join(where)} "
        f"WINDOW {' AND '.join(window)} MAXWINDOW {query.max_window_us} US;"
    )


def _scaled(theta: Theta) -> str:
    text = f"{theta.scale!r} * {theta.right}.{theta.right_column}"
    return f"{text} + {theta.offset!r}" if theta.offset else text
