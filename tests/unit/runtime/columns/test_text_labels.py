"""Numbers of texts are in the order of the texts, however the texts come."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import from_python
from cqc.runtime.columns.text_labels import TextLabels


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("step", [1, 4, 1 << 31])
def test_numbers_follow_the_texts_and_stay_or_are_told(seed: int, step: int) -> None:
    rng = Random(seed)
    labels, known = TextLabels(step), {}
    for _ in range(30):
        texts = [
            "".join(rng.choices("abz\u00e9\U0001f600", k=rng.randint(0, 3)))
            for _ in range(rng.randint(1, 9))
        ]
        given = [None if rng.random() < 0.1 else text for text in texts]
        numbers, moved = labels.of(from_python(T.STRING, given))
        if moved is not None:
            known = {
                text: int(moved[1][moved[0].searchsorted(label)]) for text, label in known.items()
            }
        for text, number in zip(given, numbers.tolist(), strict=True):
            assert text is None or known.setdefault(text, number) == number
        ordered = [known[text] for text in sorted(known, key=str.encode)]
        assert ordered == sorted(set(ordered))
        present = np.array([text is not None for text in given])
        assert labels.texts(numbers, present).values.to_pylist() == given
    assert len(labels) == len(known)


def test_texts_that_only_grow_never_lack_room() -> None:
    labels = TextLabels()
    moves = [labels.of(from_python(T.STRING, [f"{at:05}"]))[1] for at in range(300)]
    assert moves == [None] * 300
