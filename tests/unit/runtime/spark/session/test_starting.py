"""A session on its way: asked for, it is waited for, and a failure is told to whoever asks."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.errors import RunError
from cqc.runtime.spark.session import starting
from cqc.runtime.spark.session.starting import Starting
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable


class Slow:
    """A session that is there when somebody lets it."""

    may_start = threading.Event()
    closed = 0

    def __init__(self, master: str | None) -> None:
        assert self.may_start.wait(PATIENCE_S)
        self.master = master

    def close(self) -> None:
        type(self).closed += 1


def begin(monkeypatch: pytest.MonkeyPatch, session: Callable[..., object]) -> Starting:
    monkeypatch.setattr(starting, "Session", session)
    return Starting("local[1]")


def test_nobody_waits_until_the_session_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    on_its_way = begin(monkeypatch, Slow)
    assert on_its_way.wait()
    on_its_way.close()  # one that is still starting ends with the process
    assert Slow.closed == 0
    Slow.may_start.set()
    session = on_its_way.result()
    assert isinstance(session, Slow)
    assert session.master == "local[1]"
    on_its_way.close()
    assert Slow.closed == 1


def test_a_failure_is_raised_where_the_session_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def failing(master: str | None) -> None:
        raise RunError("Spark does not start: there is no Java")

    on_its_way = begin(monkeypatch, failing)
    with pytest.raises(RunError, match="there is no Java"):
        on_its_way.result()
    on_its_way.close()
