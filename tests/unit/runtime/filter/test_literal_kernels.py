"""The kernels that find literals in texts: by rare grams anywhere, by hashes at either end, in as many calls as there is room for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from cqc.runtime.filter.literal_kernels import (
    GRAMS,
    MOST_HASHED,
    EndTable,
    GramTable,
    Literals,
    Occurrences,
    count_grams,
    enter_ends,
    enter_grams,
    find_ends,
    find_grams,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

LONG = "x" * (MOST_HASHED + 5)


def laid(texts: list[str]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    parts = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    return ends, np.frombuffer(b"".join(parts), np.uint8).copy()


def gram_table(size: int, count: int) -> GramTable:
    return GramTable(
        size,
        np.zeros(GRAMS // 64, np.uint64),
        np.full(GRAMS, -1, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.int32),
    )


def end_table(count: int, *, backwards: bool) -> EndTable:
    return EndTable(
        backwards,
        np.zeros(MOST_HASHED + 1, np.bool_),
        np.full(64, -1, np.int32),
        np.zeros(count, np.int32),
        np.zeros(count, np.uint64),
    )


def every(
    find: Callable[[int, Occurrences], tuple[int, int, int]], texts: int, room: int
) -> set[tuple[int, int]]:
    """All occurrences, none of them twice, by calls with so much room."""
    found: list[tuple[int, int]] = []
    text = 0
    while text < texts:
        out = Occurrences(np.empty(room, np.int32), np.empty(room, np.int32))
        count, text, _ = find(text, out)
        found += zip(out.texts[:count].tolist(), out.literals[:count].tolist(), strict=True)
    assert len(set(found)) == len(found)
    return set(found)


@pytest.mark.parametrize("room", [3, 100])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_literals_are_found_anywhere_by_one_gram(size: int, room: int) -> None:
    words, texts = ["katz", "mimi", "exes"], ["mimikatz.exe", "", "kat", "xmimi", "exesexe"]
    literals = Literals(*laid(words))
    table = gram_table(size, len(words))
    enter_grams(literals, np.arange(3), table, np.zeros(GRAMS, np.int32))
    offsets, data = laid(texts)
    found = every(
        lambda at, out: find_grams(offsets, data, literals, table, at, out), len(texts), room
    )
    assert found == {(0, 0), (0, 1), (3, 1), (4, 2)}


def test_a_literal_that_is_in_a_text_several_times_is_told_once() -> None:
    literals = Literals(*laid(["ab", "ba"]))
    table = gram_table(2, 2)
    enter_grams(literals, np.arange(2), table, np.zeros(GRAMS, np.int32))
    offsets, data = laid(["ababab", "xab", "abxab"])
    out = Occurrences(np.empty(9, np.int32), np.empty(9, np.int32))
    count, text, _ = find_grams(offsets, data, literals, table, 0, out)
    pairs = sorted(zip(out.texts[:count].tolist(), out.literals[:count].tolist(), strict=True))
    assert (pairs, text) == ([(0, 0), (0, 1), (1, 0), (2, 0)], 3)


def test_a_literal_is_entered_under_its_rarest_gram() -> None:
    literals = Literals(*laid(["aab"]))
    counts = np.zeros(GRAMS, np.int32)
    count_grams(np.frombuffer(b"aaaaaaaa", np.uint8), 2, counts)
    table = gram_table(2, 1)
    enter_grams(literals, np.arange(1), table, counts)
    assert table.gram_at[0] == 3  # `ab`, which ends at its third byte
    offsets, data = laid(["aaaaaaaa", "xaab"])
    out = Occurrences(np.empty(4, np.int32), np.empty(4, np.int32))
    count, _, compared = find_grams(offsets, data, literals, table, 0, out)
    assert (count, compared) == (1, 1)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("room", [2, 100])
def test_literals_are_found_at_one_end_by_the_hash_of_their_bytes(
    backwards: bool, room: int
) -> None:
    words = ["ab", "abc", "c", LONG]
    texts = ["abcab", "abc", "", "c", LONG, f"{LONG}x", "ab" + LONG]
    literals = Literals(*laid(words))
    table = end_table(len(words), backwards=backwards)
    enter_ends(literals, np.arange(len(words)), table)
    offsets, data = laid(texts)
    found = every(
        lambda at, out: find_ends(offsets, data, literals, table, at, out), len(texts), room
    )
    is_there = str.endswith if backwards else str.startswith
    assert found == {
        (row, number)
        for row, text in enumerate(texts)
        for number, word in enumerate(words)
        if is_there(text, word)
    }
