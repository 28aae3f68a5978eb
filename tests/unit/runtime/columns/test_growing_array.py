"""Arrays that grow at the end, against a Python list."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from cqc.runtime.columns.growing_array import Growing


@pytest.mark.parametrize("seed", range(4))
def test_it_is_a_list_whatever_is_added_and_taken(seed: int) -> None:
    random = Random(seed)
    array, expected = Growing(np.int64), list[int]()
    for value in range(300):
        if expected and random.random() < 0.3:
            position = random.randrange(len(expected))
            moved = array.swap_remove(position)
            last = expected.pop()
            assert moved == (position < len(expected))
            if moved:
                expected[position] = last
        elif random.random() < 0.1:
            array.extend(range(value, value + 40))
            expected += range(value, value + 40)
        else:
            assert array.append(value) == len(expected)
            expected.append(value)
        assert len(array) == len(expected)
    assert array.view().tolist() == expected


def test_with_a_width_its_elements_are_rows() -> None:
    array = Growing(np.uint64, 2)
    for value in range(40):
        array.append((value, value + 1))
    assert array.view()[[0, 39]].tolist() == [[0, 1], [39, 40]]
    assert array.nbytes >= 40 * 2 * 8
