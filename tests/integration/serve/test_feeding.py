"""What comes in without a client, and in which order with what clients send."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from cqc.runtime.serve import feeding
from cqc.runtime.serve.source_feed import SourceFeed
from tests.integration.serve.running import Running, running
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = '{path}');
CREATE STREAM other (ts BIGINT);
CREATE QUERY total AS SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW;
"""


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Files are read once it is open."""
    gate, read = threading.Event(), SourceFeed.next_batch

    def held_back(self: SourceFeed) -> Any:
        gate.wait(PATIENCE_S)
        return read(self)

    monkeypatch.setattr(SourceFeed, "next_batch", held_back)
    return gate


def count(service: Running) -> int:
    return int(service.invoke("total")["rows"][0]["n"])


def program(folder: Path) -> str:
    (folder / "s.csv").write_text("ts,x\n1,1\n2,2\n")
    return PROGRAM.format(path=folder / "s.csv")


def test_rows_of_clients_wait_for_the_files_of_their_stream(
    tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding.Feeding.files_first, "__defaults__", (PATIENCE_S,))
    with running(program(tmp_path)) as service:
        assert service.push("other", {"ts": 1})["accepted"] == 1  # which has no files
        threading.Timer(0.2, gate.set).start()
        assert service.push("s", {"ts": 100, "x": 3})["accepted"] == 1
        wait_until(lambda: count(service) == 3)


def test_they_do_not_wait_for_ever(
    tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeding.Feeding.files_first, "__defaults__", (0.05,))
    with running(program(tmp_path)) as service:
        assert service.push("s", {"ts": 100, "x": 3})["accepted"] == 1
        assert not service.client.get("/health").json()["caught_up"]
        gate.set()
