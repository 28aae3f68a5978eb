"""Who has a key, newest first: chains against a walk over all tuples, and equal values have equal keys."""

from __future__ import annotations

import math
from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.state.hash_chains import HashChains, KeyKind, bucket_of, keys_of


def chain(chains: HashChains, form: int, key: int, first: int, base: int) -> list[int]:
    """The positions of a key, newest first, walked as the kernels do."""
    position, found = int(chains.heads[form, bucket_of(key, chains.shift)]), []
    while position >= first:
        following, own = chains.links[form, position - base].tolist()
        assert following < position
        if own == key:
            found.append(position)
        position = following
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_chain_has_the_living_tuples_of_its_key_newest_first(seed: int) -> None:
    random = Random(seed)
    chains = HashChains(64)
    number = chains.add_form(0, KeyKind.PLAIN, whole_row=0)
    text = chains.add_form(1, KeyKind.PLAIN)
    numbers: list[int | None] = []
    texts: list[str | None] = []
    first = base = 0
    capacity = 64
    for _ in range(40):
        count = random.randint(0, 20)
        if len(numbers) + count - base > capacity:
            kept = len(numbers) - first
            capacity = 64 if kept + count <= 64 else 256
            chains.relocate(first - base, kept, capacity, first)
            base = first
        more = [random.choice((None, 1, 2, -(2**63))) for _ in range(count)]
        words = [random.choice((None, "", "a", "é" * 30)) for _ in range(count)]
        columns = (from_python(T.BIGINT, more), from_python(T.STRING, words))
        chains.insert_all(columns, len(numbers), base)
        numbers += more
        texts += words
        first = max(first, len(numbers) - random.randint(20, 60))
    for value in (1, 2, -(2**63), 5):
        expected = [at for at in range(len(numbers) - 1, first - 1, -1) if numbers[at] == value]
        assert chain(chains, number, value, first, base) == expected
    for word in ("", "a", "é" * 30, "b"):
        (key,) = keys_of(from_python(T.STRING, [word]), KeyKind.PLAIN).tolist()
        expected = [at for at in range(len(texts) - 1, first - 1, -1) if texts[at] == word]
        assert chain(chains, text, key, first, base) == expected


def test_a_form_that_comes_later_gets_the_tuples_that_are_there() -> None:
    chains = HashChains(8)
    chains.add_form(0, KeyKind.PLAIN)
    column = from_python(T.BIGINT, [7, 5, 7])
    chains.insert_all((column,), 0, 0)
    later = chains.add_form(0, KeyKind.AS_DOUBLE)
    chains.insert(later, column, 0, 0)
    (key,) = keys_of(from_python(T.DOUBLE, [7.0]), KeyKind.PLAIN).tolist()
    assert chain(chains, later, key, 0, 0) == [2, 0]
    assert chains.form(0, KeyKind.AS_DOUBLE) == later
    assert chains.form(1, KeyKind.PLAIN) is None


def test_values_that_are_equal_in_the_language_have_one_key() -> None:
    doubles = keys_of(from_python(T.DOUBLE, [0.0, -0.0, math.nan, -math.nan, 7.0]), KeyKind.PLAIN)
    assert doubles[0] == doubles[1]
    assert doubles[2] == doubles[3]
    whole = from_python(T.BIGINT, [7])
    assert keys_of(whole, KeyKind.AS_DOUBLE)[0] == doubles[4]
    assert keys_of(whole, KeyKind.PLAIN).tolist() == [7]
    assert keys_of(from_python(T.BOOLEAN, [True, False]), KeyKind.PLAIN).tolist() == [1, 0]


def test_texts_have_the_keys_of_their_bytes_wherever_they_are_in_an_array() -> None:
    texts = from_python(T.STRING, ["a", "b", None, "a"])
    keys = keys_of(texts, KeyKind.PLAIN)
    assert keys[0] == keys[3] != keys[1]
    part = from_python(T.STRING, ["x", "a"]).values[1:]
    assert keys_of(type(texts)(T.STRING, part), KeyKind.PLAIN)[0] == keys[0]
    assert isinstance(keys, np.ndarray)
