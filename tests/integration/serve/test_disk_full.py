"""A service without room on its disk acknowledges nothing more, stops with one sentence, and is then as it was."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING

import httpx
import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
from tests.integration.serve.test_durable import PROGRAM, face, push, start
from tests.support.waiting import PATIENCE_S
from tests.unit.runtime.run.durable.test_disk_full import room_for

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.runtime.serve.service import Service


def push_and_commit(service: Service) -> None:
    push(service, "a", [{"ts": 2, "k": 2, "name": "y" * 1000}])
    service.commit()


@pytest.mark.parametrize("room", [0, 10, 30, 200, 600])
def test_what_found_no_room_is_not_there_and_the_rest_is(room: int, tmp_path: Path) -> None:
    service = start(tmp_path / "0", segment_bytes=10**9)
    service.register("SELECT ts, name FROM a WHERE k > 1", "above")
    push(service, "a", [{"ts": 1, "k": 2, "name": "x"}])
    service.commit()
    seen = face(service)
    largest = max(file.stat().st_size for file in (tmp_path / "0").iterdir())
    with room_for(largest + room):
        with pytest.raises(OSError, match="File too large"):
            push_and_commit(service)
        with pytest.raises(OSError, match="File too large"):
            push_and_commit(service)
    with pytest.raises(OSError, match="File too large"):  # it does not become well by itself
        service.commit()
    assert service._durable is not None
    service._durable.close()
    again = start(tmp_path / "0")
    assert face(again) == seen
    push(again, "a", [{"ts": 2, "k": 3, "name": "z"}])
    again.commit()
    assert again.results.next_number == seen["next"] + 1
    again.close()


def test_a_client_is_refused_and_the_service_ends_when_there_is_no_room(tmp_path: Path) -> None:
    options = ServeOptions(port=0, checkpoint=str(tmp_path / "service"))
    server = ServiceServer(cqc.compile(PROGRAM), options, lambda text: None)
    ended: Future[None] = Future()

    def serve() -> None:
        try:
            server.serve_until_stopped()
        except RunError as error:
            ended.set_exception(error)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    rows = [{"ts": 1, "k": 2, "name": "x" * 5000}]
    with room_for(3000):
        answer = httpx.post(
            f"{server.address}/streams/a", json=rows, timeout=PATIENCE_S, trust_env=False
        )
        with pytest.raises(RunError, match="cannot write the checkpoint: File too large"):
            ended.result(timeout=PATIENCE_S)
    assert answer.status_code == 503
    thread.join(timeout=PATIENCE_S)
    shutil.copytree(
        tmp_path / "service", tmp_path / "copy"
    )  # the process is the same, and has the lock
    again = start(tmp_path / "copy")
    assert again.engine.lines["a"].count.read == 0
    again.close()
