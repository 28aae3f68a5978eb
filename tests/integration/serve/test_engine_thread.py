"""The engine's thread: one thing at a time, in a fair order, and errors for whoever asked."""

import threading
from collections.abc import Iterator

import pytest

from cqc.runtime.serve.engine_thread import EngineThread
from tests.support.waiting import PATIENCE_S


@pytest.fixture
def thread() -> Iterator[EngineThread]:
    found = EngineThread()
    yield found
    found.stop()


def test_work_is_done_in_its_order_and_errors_are_handed_on(thread: EngineThread) -> None:
    done: list[int] = []
    futures = [
        thread.submit(lambda number=number: done.append(number), is_question=False)
        for number in range(5)
    ]
    wrong = thread.submit(lambda: 1 // 0, is_question=True)
    for each in futures:
        each.result(timeout=PATIENCE_S)
    assert done == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        wrong.result(timeout=PATIENCE_S)
    assert thread.submit(lambda: 7, is_question=True).result(timeout=PATIENCE_S) == 7


def test_questions_do_not_wait_behind_all_changes(thread: EngineThread) -> None:
    begun, go_on = threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)

    thread.submit(first, is_question=False)
    assert begun.wait(PATIENCE_S)
    last = [thread.submit(lambda: order.append("change"), is_question=False) for _ in range(3)]
    last.append(thread.submit(lambda: order.append("question"), is_question=True))
    go_on.set()
    for each in last:
        each.result(timeout=PATIENCE_S)
    assert order[0] == "question"


def test_work_that_was_given_up_before_it_began_is_not_done(thread: EngineThread) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        assert go_on.wait(PATIENCE_S)

    busy = thread.submit(first, is_question=True)
    assert begun.wait(PATIENCE_S)
    done: list[int] = []
    given_up = thread.submit(lambda: done.append(1), is_question=True)
    assert given_up.cancel()
    go_on.set()
    busy.result(timeout=PATIENCE_S)
    thread.submit(lambda: None, is_question=True).result(timeout=PATIENCE_S)
    assert not done


def test_what_is_queued_is_finished_before_the_end() -> None:
    thread = EngineThread()
    futures = [thread.submit(lambda: 1, is_question=bool(at % 2)) for at in range(10)]
    thread.stop()
    assert sum(each.result(timeout=PATIENCE_S) for each in futures) == 10
    with pytest.raises(RuntimeError):
        thread.submit(lambda: 1, is_question=True)
