from __future__ import annotations

from cqc.runtime.columns.lent_memory import LentMemory


def test_a_piece_that_was_given_back_is_lent_again() -> None:
    memory = LentMemory(2)
    piece = memory.lend(100)
    memory.give_back(piece)
    assert memory.lend(80) is piece


def test_two_never_have_the_same_piece() -> None:
    memory = LentMemory(2)
    pieces = [memory.lend(10) for _ in range(3)]
    assert len({id(piece) for piece in pieces}) == 3
    for piece in pieces:
        memory.give_back(piece)
    again = [memory.lend(10) for _ in range(3)]
    assert len({id(piece) for piece in again}) == 3


def test_a_piece_is_as_large_as_was_asked_for() -> None:
    memory = LentMemory(1)
    memory.give_back(memory.lend(10))
    assert len(memory.lend(1_000)) >= 1_000


def test_no_more_is_kept_than_was_said_and_nothing_huge() -> None:
    memory = LentMemory(1)
    first, second, huge = memory.lend(10), memory.lend(10), memory.lend(64 * 1024 * 1024)
    memory.give_back(huge)
    memory.give_back(first)
    memory.give_back(second)
    assert memory.lend(10) is first
    assert memory.lend(10) is not second
