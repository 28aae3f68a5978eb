"""Numbers of texts: equal where the texts are equal, whatever came before, and within so many bytes."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from cqc.runtime.filter.text_numbers import TextNumbers


def valid_of(texts: list[str | None]) -> np.ndarray:
    return np.array([text is not None for text in texts])


def test_a_text_keeps_its_number_from_packet_to_packet() -> None:
    numbers = TextNumbers(1 << 20)
    first = numbers.number(
        pa.array(["cmd", "net", "cmd", None]), np.array([True, True, True, False])
    )
    assert first is not None
    assert (first.numbers.tolist(), first.fresh.tolist()) == ([0, 1, 0, -1], [0, 1])
    second = numbers.number(pa.array(["net", "sc", "", "sc"]), None)
    assert second is not None
    assert (second.numbers.tolist(), second.fresh.tolist()) == ([1, 2, 3, 2], [1, 2])
    assert len(numbers) == 4
    numbers.clear()
    assert len(numbers) == 0


@pytest.mark.parametrize("seed", range(4))
def test_random_texts_have_one_number_each(seed: int) -> None:
    chance = random.Random(seed)
    numbers, known = TextNumbers(1 << 20), dict[str, int]()
    for _ in range(5):
        texts = [
            None
            if chance.random() < 0.1
            else "".join(chance.choices("abä", k=chance.choice([0, 1, 3, 8, 9, 17])))
            for _ in range(400)
        ]
        found = numbers.number(pa.array(texts, pa.string()).slice(1), valid_of(texts)[1:])
        assert found is not None
        assert not found.anew
        for at, text in enumerate(texts[1:]):
            if text is None:
                assert found.numbers[at] == -1
            else:
                assert known.setdefault(text, int(found.numbers[at])) == found.numbers[at]
        assert [texts[1:][row] for row in found.fresh] == list(known)[
            len(known) - len(found.fresh) :
        ]
    assert len(set(known.values())) == len(known) == len(numbers)


def test_when_there_is_no_room_it_begins_anew() -> None:
    numbers = TextNumbers(64 * 1024)
    for start in range(0, 40_000, 200):
        texts = [f"a text of number {at}" for at in range(start, start + 200)]
        found = numbers.number(pa.array(texts), None)
        assert found is not None
        assert len(set(found.numbers.tolist())) == 200
        assert len(found.fresh) == 200
        assert numbers.nbytes <= 64 * 1024
    assert found.anew or len(numbers) < 2_000


def test_texts_that_never_fit_are_not_numbered() -> None:
    numbers = TextNumbers(64 * 1024)
    assert numbers.number(pa.array(["short"]), None) is not None
    assert numbers.number(pa.array(["x" * 100_000, "short"]), None) is None
    assert len(numbers) == 0
