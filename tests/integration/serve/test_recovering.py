"""A service that reads its checkpoint says how far it is: to clients, and on standard error."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx

import cqc
from cqc.runtime.serve.http import recovering as module
from cqc.runtime.serve.http.recovering import Recovering
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
from tests.integration.serve.running import PROGRAM, running
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_health_says_how_far_a_service_is_with_its_checkpoint() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    said: list[str] = []
    ticks = iter(range(0, 1_000, 4))
    with listener, Recovering(listener, said.append, lambda: float(next(ticks))) as recovering:
        recovering.progress(0.25)
        host, port = listener.getsockname()
        with httpx.Client(base_url=f"http://{host}:{port}", trust_env=False) as client:
            health = client.get("/health").json()
            assert (health["status"], health["recovered"]) == ("recovering", 0.25)
            answer = client.get("/queries")
            assert answer.status_code == 503
            assert (
                answer.json()["error"] == "the service reads its checkpoint (25%); try again later"
            )
    assert said == ["recovering: 25% of the checkpoint is read"]


BATCHES = 20


def fill(checkpoint: Path) -> None:
    """Leave a checkpoint of so many batches behind."""
    with running(checkpoint=checkpoint) as service:
        for at in range(BATCHES):
            service.push("s", {"ts": at, "k": 1, "x": 11.0})


def test_a_real_checkpoint_is_told_of_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Asked by a client each time the service has said a word, in the middle of its recovery."""
    fill(tmp_path / "state")
    monkeypatch.setattr(module, "_FIRST_WORD_S", 0.0)
    monkeypatch.setattr(module, "_NEXT_WORD_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    said, heard, refused = [], [], []
    with httpx.Client(
        base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, trust_env=False
    ) as client:

        def ask(sentence: str) -> None:
            said.append(sentence)
            health = client.get("/health").json()
            heard.append((health["status"], health["recovered"]))
            refused.append(client.get("/queries").status_code)

        options = ServeOptions(port=port, checkpoint=str(tmp_path / "state"))
        server = ServiceServer(cqc.compile(PROGRAM), options, said.append, say=ask)
        thread = threading.Thread(target=server.serve_until_stopped, daemon=True)
        thread.start()
        health = client.get("/health").json()
        server.stop()
        thread.join(timeout=PATIENCE_S)
    assert (health["status"], health["tuples"]) == ("ok", BATCHES)
    assert len(said) >= BATCHES
    assert refused == [503] * len(said)
    assert {status for status, _ in heard} == {"recovering"}
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.5
    assert shares[-1] == 1.0


def test_standard_error_says_how_far_it_is(tmp_path: Path) -> None:
    fill(tmp_path / "state")
    program = tmp_path / "p.cq"
    program.write_text(PROGRAM, encoding="utf-8")
    text = (
        "import sys\n"
        "import cqc.runtime.serve.http.recovering as recovering\n"
        "recovering._FIRST_WORD_S = 0.0\n"  # a recovery that nobody has to wait for
        "from cqc.cli.main import main\n"
        "main(sys.argv[1:])\n"
    )
    given = ["serve", str(program), "--checkpoint", str(tmp_path / "state"), "--port", "0"]
    process = subprocess.Popen(
        [sys.executable, "-c", text, *given],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        first, second = process.stderr.readline(), process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
    finally:
        process.kill()
        process.communicate()
    assert re.fullmatch(r"recovering: \d+% of the checkpoint is read\n", first)
    assert second.startswith("serving on http://127.0.0.1:")
