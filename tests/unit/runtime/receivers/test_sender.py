"""The thread that sends: in order, again after failures, from its place after a restart."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.receiver import Columns, RefusedError, Sent, UnreachableError
from cqc.runtime.receivers.sender import Place, Sender, SinkStatus
from cqc.runtime.receivers.spool import MemorySpool
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

COLUMNS = Columns(("x",), ("BIGINT",), "BIGINT")


class Scripted:
    """A receiver that does what it is told, then takes everything."""

    at_once = 3

    def __init__(self, *script: Exception) -> None:
        self.script = list(script)
        self.taken: list[int] = []
        self.connections = 0

    def open(self) -> Scripted:
        self.connections += 1
        return self

    def send(self, results: Sequence[Sent]) -> None:
        if self.script:
            error = self.script.pop(0)
            self.taken += sorted(getattr(error, "taken", ()))
            raise error
        self.taken += [each.number for each in results]

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        pass


def started(receiver: Scripted, count: int, place: Path | None = None, **more: object) -> Sender:
    spool = MemorySpool(10**6)
    spool.append([Sent(n, f"id{n}", "q", '{"row": {}}', COLUMNS) for n in range(1, count + 1)])
    spool.release()
    sender = Sender(SinkStatus("s", "test"), spool, receiver.open, Place(place), **more)  # type: ignore[arg-type]
    sender.start()
    return sender


def finished(sender: Sender) -> SinkStatus:
    until = time.monotonic() + PATIENCE_S
    while not (sender.is_done or sender.failure) and time.monotonic() < until:
        time.sleep(0.01)
    sender.end()
    return sender.measure()


def test_everything_is_sent_in_order() -> None:
    receiver = Scripted()
    status = finished(started(receiver, 10))
    assert receiver.taken == list(range(1, 11))
    assert (status.sent, status.waiting) == (10, 0)


def test_a_failure_is_tried_again_without_what_was_taken() -> None:
    receiver = Scripted(UnreachableError("down"), UnreachableError("half", taken=[1, 2]))
    told: list[str] = []
    status = finished(started(receiver, 3, say=told.append))
    assert receiver.taken == [1, 2, 3]
    assert (status.sent, status.failures, status.is_failing) == (3, 2, False)
    assert told == ["sink s: down; results wait", "sink s takes results again"]


def test_only_what_is_refused_is_put_aside(tmp_path: Path) -> None:
    receiver = Scripted(RefusedError("no", 400, refused=[2], taken=[1]))
    status = finished(started(receiver, 3, dead_letters=tmp_path / "dead.jsonl"))
    assert receiver.taken == [1, 3]
    assert (status.sent, status.dead) == (2, 1)
    assert (tmp_path / "dead.jsonl").read_text().count("\n") == 1


def test_refused_results_that_no_file_has_are_lost_and_told_without_a_line_for_each() -> None:
    receiver = Scripted(*(RefusedError("no", 400, refused=[n]) for n in (1, 2, 3)))
    told: list[str] = []
    status = finished(started(receiver, 4, say=told.append))
    assert receiver.taken == [4]
    assert (status.sent, status.dead, status.lost) == (1, 3, 3)
    assert told == [
        "sink s did not take result id1 (no), lost, because the sink has no dead_letters"
    ]


def test_a_place_is_where_the_next_one_goes_on(tmp_path: Path) -> None:
    finished(started(Scripted(), 4, tmp_path / "sent.json"))
    receiver = Scripted()
    finished(started(receiver, 6, tmp_path / "sent.json"))
    assert receiver.taken == [5, 6]


def test_what_cannot_be_mended_ends_the_sender_aloud() -> None:
    told: list[str] = []
    sender = started(Scripted(RunError("the table has other columns")), 1, say=told.append)
    status = finished(sender)
    assert str(sender.failure) == "the table has other columns"
    assert (status.waiting, status.is_failing) == (1, True)
    assert told == ["sink s: the table has other columns"]


def test_whatever_a_receiver_raises_is_tried_again_and_told() -> None:
    receiver = Scripted(ZeroDivisionError("a bug of its own"))
    told: list[str] = []
    finished(started(receiver, 2, say=told.append))
    assert receiver.taken == [1, 2]
    assert told[0] == "sink s: ZeroDivisionError: a bug of its own; results wait"
