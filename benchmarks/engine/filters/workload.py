"""The filter workload: standing conjunctions over eight numbers, and rules over twenty text columns. Seeded.

A condition is plain data, so that every contestant writes it in its own way.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

COLUMNS = 8
LARGEST = 255
TEXT_COLUMNS = 20
_WORDS = 3000


@dataclass(frozen=True, slots=True)
class Range:
    """`low <= column <= high`, either side may be open."""

    column: int
    low: float | None
    high: float | None


Query = tuple[Range, ...]


@dataclass(frozen=True, slots=True)
class TextAtom:
    """A literal at the start, at the end, or anywhere in a text column."""

    column: int
    kind: str  # "starts", "ends", "contains"
    literal: str


Rule = tuple[tuple[TextAtom, ...], ...]  # AND of ORs


def dense_queries(count: int, *, doubles: bool = False, seed: int = 1) -> list[Query]:
    """Conjunctions of 1 to 4 ranges with uniform limits: each matches a quarter of the tuples on average."""
    rng = random.Random(seed)
    return [
        tuple(
            _wide_range(rng, column, doubles=doubles)
            for column in rng.sample(range(COLUMNS), rng.randint(1, 4))
        )
        for _ in range(count)
    ]


def _wide_range(rng: random.Random, column: int, *, doubles: bool) -> Range:
    limits = sorted(
        rng.random() * LARGEST if doubles else float(rng.randint(0, LARGEST)) for _ in range(2)
    )
    shape = rng.randrange(3)
    return Range(column, None if shape == 0 else limits[0], None if shape == 1 else limits[1])


def selective_queries(count: int, *, seed: int = 2) -> list[Query]:
    """An equality and one to three ranges that together leave a tuple in a thousand."""
    rng = random.Random(seed)
    queries = []
    for _ in range(count):
        first, *others = rng.sample(range(COLUMNS), rng.randint(2, 4))
        value = float(rng.randint(0, LARGEST))
        width = 256 * (0.001 * 256) ** (1 / len(others))
        ranges = [_narrow_range(rng, column, width) for column in others]
        queries.append((Range(first, value, value), *ranges))
    return queries


def ranged_queries(count: int, *, seed: int = 3) -> list[Query]:
    """Two to four ranges of equal width that together leave a tuple in a thousand; no equality."""
    rng = random.Random(seed)
    queries = []
    for _ in range(count):
        columns = rng.sample(range(COLUMNS), rng.randint(2, 4))
        width = 256 * 0.001 ** (1 / len(columns))
        queries.append(tuple(_narrow_range(rng, column, width) for column in columns))
    return queries


def _narrow_range(rng: random.Random, column: int, width: float) -> Range:
    whole = max(1, round(width))
    low = rng.randint(0, LARGEST + 1 - whole)
    return Range(column, float(low), float(low + whole - 1))


def tuples(
    count: int, *, doubles: bool = False, seed: int = 4
) -> NDArray[np.float64] | NDArray[np.int64]:
    """[columns, tuples]: uniform numbers 0..255."""
    rng = np.random.default_rng(seed)
    whole = rng.integers(0, LARGEST + 1, (COLUMNS, count))
    return rng.random((COLUMNS, count)) * LARGEST if doubles else whole


def text_rules(count: int, *, seed: int = 5) -> list[Rule]:
    """AND of one or two groups, each an OR of one to three atoms."""
    rng = random.Random(seed)
    words = vocabulary()
    return [
        tuple(
            tuple(_text_atom(rng, words) for _ in range(rng.randint(1, 3)))
            for _ in range(rng.randint(1, 2))
        )
        for _ in range(count)
    ]


def _text_atom(rng: random.Random, words: list[str]) -> TextAtom:
    literal = rng.choice(words)
    kind = rng.choice(("starts", "ends", "contains"))
    return TextAtom(rng.randrange(TEXT_COLUMNS), kind, literal)


def vocabulary() -> list[str]:
    """Words of four to nine letters."""
    rng = random.Random(6)
    return [
        "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(4, 9)))
        for _ in range(_WORDS)
    ]


def texts(count: int, *, seed: int = 7) -> list[list[str]]:
    """For each column `count` texts of one to five words."""
    rng = random.Random(seed)
    words = vocabulary()
    return [
        [" ".join(rng.choices(words, k=rng.randint(1, 5))) for _ in range(count)]
        for _ in range(TEXT_COLUMNS)
    ]
