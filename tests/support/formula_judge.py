"""Formulas evaluated tuple by tuple in plain Python, and random ones: the judge of the grouped filter's tests."""

from __future__ import annotations

import itertools
import math
import re
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.bound import PatternKind
from cqc.compiler.meaning.normal import (
    AllOf,
    AnyOf,
    Atom,
    FoldedAtom,
    Formula,
    Interval,
    NetAtom,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.packet import Packet

if TYPE_CHECKING:
    import random

TYPES = (
    ColumnType.BIGINT,
    ColumnType.DOUBLE,
    ColumnType.STRING,
    ColumnType.BOOLEAN,
    ColumnType.TIMESTAMP,
    ColumnType.DATE,
)
EXPRESSIONS = (
    "a",
    "^ab",
    "a.b",
    "ba$",
    "a+b",
    "(ab)?A",
    "[ab]ä",
    "b|ä",
    "",
    "(?i)AB",
    "a{2}",
    "\\.",
    "ab*A",
    "[\\]ab]%",
)
EXTREMES = (-(2**63), 2**63 - 1, 0)


def packet_of(types: tuple[ColumnType, ...], rows: list[tuple[Any, ...]]) -> Packet:
    columns = tuple(from_python(type_, [row[at] for row in rows]) for at, type_ in enumerate(types))
    numbers = np.arange(len(rows), dtype=np.int64)
    return Packet(columns, numbers, numbers)


def order(value: Any) -> Any:
    """A value in the order of its type: NaN is greatest, text goes by its bytes."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value + 0.0)
    return value


def in_interval(value: Any, interval: Interval) -> bool:
    place = order(value)
    if interval.low is not None:
        low = order(interval.low)
        if place < low or (place == low and not interval.low_closed):
            return False
    if interval.high is not None:
        high = order(interval.high)
        if place > high or (place == high and not interval.high_closed):
            return False
    return True


def like_expression(pattern: str, escape: str) -> str:
    parts, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            parts.append(re.escape(next(characters)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return "".join(parts)


def matches(text: str, atom: PatternAtom) -> bool:
    if atom.kind is PatternKind.RLIKE:
        return re.search(atom.pattern, text) is not None
    pattern = atom.pattern
    if atom.kind is PatternKind.ILIKE:
        text, pattern = text.lower(), pattern.lower()
    return re.fullmatch(like_expression(pattern, atom.escape), text, re.DOTALL) is not None


NETS = ["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "fe80::/10", "::ffff:10.1.0.0/112"]
ADDRESSES = ["10.0.0.1", "10.1.2.3", "11.0.0.0", "::ffff:10.1.2.4", "fe80::1%eth0", "::", "1::2"]


def in_nets(text: str, nets: tuple[str, ...]) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    for net in nets:
        network = ip_network(net, strict=False)
        mapped = getattr(network.network_address, "ipv4_mapped", None)
        if mapped is not None and network.prefixlen >= 96:
            network = ip_network(f"{mapped}/{network.prefixlen - 96}", strict=False)
        if network.version == address.version and address in network:
            return True
    return False


def is_true(formula: Formula, row: tuple[Any, ...]) -> bool:
    match formula:
        case AllOf(parts):
            return all(is_true(part, row) for part in parts)
        case AnyOf(parts):
            return any(is_true(part, row) for part in parts)
        case ValueAtom(column, _, intervals, matches_null):
            value = row[column]
            if value is None:
                return matches_null
            return any(in_interval(value, interval) for interval in intervals)
        case FoldedAtom():
            text = row[formula.column]
            if text is None:
                return formula.matches_null
            return (text.lower() in formula.texts) != formula.negated
        case NetAtom():
            text = row[formula.column]
            if text is None:
                return formula.matches_null
            return in_nets(text, formula.nets) != formula.negated
        case PatternAtom():
            text = row[formula.column]
            if text is None:
                return formula.matches_null
            return matches(text, formula) != formula.negated
    raise AssertionError(formula)


def random_value(rng: random.Random, type_: ColumnType, *, null: bool = True) -> Any:
    if null and rng.random() < 0.1:
        return None
    match type_:
        case ColumnType.BOOLEAN:
            return rng.random() < 0.5
        case ColumnType.STRING if rng.random() < 0.2:
            return rng.choice(ADDRESSES)
        case ColumnType.STRING:
            return "".join(rng.choice("abAä%_") for _ in range(rng.randrange(5)))
        case ColumnType.DOUBLE:
            special = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, -1e300, 5e-324)
            return rng.choice(special) if rng.random() < 0.2 else round(rng.uniform(-3, 3), 1)
        case _:
            return rng.choice(EXTREMES) if rng.random() < 0.05 else rng.randrange(-8, 9)


def random_atom(rng: random.Random, types: tuple[ColumnType, ...]) -> Atom:
    column = rng.randrange(len(types))
    type_ = types[column]
    if type_ is ColumnType.STRING and rng.random() < 0.2:
        made = {random_value(rng, type_, null=False).lower() for _ in range(rng.randrange(1, 8))}
        return FoldedAtom(column, tuple(sorted(made)), rng.random() < 0.4, rng.random() < 0.2)
    if type_ is ColumnType.STRING and rng.random() < 0.2:
        nets = tuple(sorted(set(rng.choices(NETS, k=rng.randrange(1, 4)))))
        return NetAtom(column, nets, rng.random() < 0.4, rng.random() < 0.2)
    if type_ is ColumnType.STRING and rng.random() < 0.5:
        kind = rng.choice(list(PatternKind))
        if kind is PatternKind.RLIKE:
            pattern = rng.choice(EXPRESSIONS)
        else:
            pattern = "".join(rng.choice("abAä%_%") for _ in range(rng.randrange(5)))
        return PatternAtom(column, kind, pattern, "\\", rng.random() < 0.4, rng.random() < 0.2)
    return ValueAtom(column, type_, random_intervals(rng, type_), rng.random() < 0.15)


def random_intervals(rng: random.Random, type_: ColumnType) -> tuple[Interval, ...]:
    """Sorted disjoint intervals that do not touch: one, points, or the complement of points."""
    shape = rng.randrange(4)
    values = sorted(
        {order(v): v for v in (random_value(rng, type_, null=False) for _ in range(9))}.values(),
        key=order,
    )
    values = [v for v in values if v == v]
    if shape == 0 or not values:
        return () if rng.random() < 0.2 else (Interval(None, False, None, False),)
    if shape == 1:
        low, high = values[0], values[-1]
        closed = (
            (True, True) if order(low) == order(high) else (rng.random() < 0.5, rng.random() < 0.5)
        )
        one = Interval(low, closed[0], high, closed[1])
        return (
            rng.choice(
                [one, Interval(None, False, high, closed[1]), Interval(low, closed[0], None, False)]
            ),
        )
    kept = values[: rng.randrange(1, len(values) + 1)]
    if shape == 2:
        return tuple(Interval(v, True, v, True) for v in kept)
    edges: list[Any] = [None, *kept, None]
    return tuple(Interval(low, False, high, False) for low, high in itertools.pairwise(edges))


def random_formula(rng: random.Random, types: tuple[ColumnType, ...], depth: int = 3) -> Formula:
    if depth == 0 or rng.random() < 0.35:
        return random_atom(rng, types)
    parts = tuple(random_formula(rng, types, depth - 1) for _ in range(rng.randrange(4)))
    return AllOf(parts) if rng.random() < 0.6 else AnyOf(parts)


def random_rows(
    rng: random.Random, types: tuple[ColumnType, ...], count: int
) -> list[tuple[Any, ...]]:
    return [tuple(random_value(rng, type_) for type_ in types) for _ in range(count)]
