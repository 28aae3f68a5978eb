"""Rows of whole numbers are found by hashing, as with a dictionary of Python."""

from __future__ import annotations

import numpy as np

from cqc.runtime.state.key_table import enter, locate, warm


def test_keys_are_found_as_a_dictionary_finds_them() -> None:
    random = np.random.default_rng(7)
    keys = random.integers(-3, 3, (500, 3))
    stored, table = np.zeros((500, 3), np.int64), np.full(1024, -1, np.int64)
    book: dict[tuple[int, ...], int] = {}
    wanted = [book.setdefault(tuple(key), len(book)) for key in keys.tolist()]
    found, used = locate(keys, stored, table, 0, True)
    assert found.tolist() == wanted
    assert used == len(book)
    assert list(map(tuple, stored[:used].tolist())) == list(book)


def test_a_key_that_is_not_there_is_only_made_when_adding() -> None:
    stored, table = np.zeros((4, 1), np.int64), np.full(8, -1, np.int64)
    assert locate(np.array([[5]]), stored, table, 0, False)[0].tolist() == [-1]
    assert locate(np.array([[5], [6]]), stored, table, 0, True)[1] == 2
    assert locate(np.array([[6], [7]]), stored, table, 2, False)[0].tolist() == [1, -1]


def test_a_table_is_filled_anew_from_what_is_stored() -> None:
    stored = np.arange(20).reshape(20, 1)
    table = np.full(64, -1, np.int64)
    enter(stored, table, 20)
    found, used = locate(stored[::-1].copy(), stored, table, 20, True)
    assert found.tolist() == list(range(19, -1, -1))
    assert used == 20


def test_the_kernels_can_be_compiled_ahead() -> None:
    warm()
