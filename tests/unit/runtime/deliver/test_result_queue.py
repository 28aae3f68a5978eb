"""Results wait by micro-batch, and each is given once."""

from __future__ import annotations

from cqc.runtime.deliver.result_queue import ResultQueue


def queue(*batches: str) -> ResultQueue[str]:
    made: ResultQueue[str] = ResultQueue()
    for batch in batches:
        made.put(batch)
    return made


def test_the_oldest_come_first_and_what_comes_meanwhile_is_left() -> None:
    waiting = queue("a", "b")
    found = []
    for batch in waiting.take(len(waiting)):
        waiting.put(f"after {batch}")
        found.append(batch)
    assert found == ["a", "b"]
    assert len(waiting) == 2


def test_two_who_fetch_at_once_get_different_ones() -> None:
    waiting = queue("a", "b", "c")
    one, other = waiting.take(3), waiting.take(3)
    assert [next(one), next(other), next(one)] == ["a", "b", "c"]
    assert list(other) == list(one) == []


def test_what_is_put_back_comes_before_all_others() -> None:
    waiting = queue("a", "b")
    (first,) = waiting.take(1)
    waiting.put_back(f"rest of {first}")
    assert list(waiting.take(9)) == ["rest of a", "b"]
    waiting.put("c")
    waiting.clear()
    assert not waiting
