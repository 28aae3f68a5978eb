"""A disk that is full: nothing is shown or answered that is not written down, and the service goes on when there is room again."""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx

from tests.integration.serve.process import ROOT, serving
from tests.integration.serve.running import events_of
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
CREATE STREAM s (ts BIGINT, n BIGINT, name STRING);
CREATE QUERY seen AS SELECT n, name FROM s;
"""
ROOM = 20_000  # bytes that a file of the checkpoint may have


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def shown(client: httpx.Client) -> dict[str, str]:
    """The results that the service has at this moment, by id."""
    found: dict[str, str] = {}
    try:
        with client.stream(
            "GET", "/results?since=start", timeout=httpx.Timeout(PATIENCE_S, read=1.0)
        ) as answer:
            for event in events_of(answer):
                if "id" in event:  # else it is about the watching itself
                    found[event["id"]] = event["data"]
    except (httpx.TransportError, httpx.StreamError):
        pass  # that was all, or the service has stopped
    return found


def test_what_was_shown_and_answered_is_there_after_the_disk_was_full(tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text(PROGRAM)
    arguments = [
        "serve",
        str(tmp_path / "p.cq"),
        "--checkpoint",
        str(tmp_path / "state"),
        "--port",
        "0",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "cqc.cli.main", *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=limit_files,
    )
    assert process.stderr is not None
    try:
        address = re.search(r"http://\S+", process.stderr.readline())
        assert address
        answered, before = 0, {}
        with httpx.Client(base_url=address[0], timeout=PATIENCE_S, trust_env=False) as client:
            for number in range(1_000):
                rows = [{"ts": number, "n": number, "name": "x" * 300}]
                try:
                    answer = client.post("/streams/s", json=rows)
                except httpx.TransportError:
                    break
                if answer.status_code != 200:
                    assert answer.status_code == 503, answer.text
                    break
                answered += 1
            before = shown(client)
        assert process.wait(timeout=PATIENCE_S) == 3
        words = process.stderr.read()
        assert words.count("error") == 1
        assert "cannot write the checkpoint: File too large" in words
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_S)
        process.stderr.close()
    assert 0 < answered < 1_000
    with serving(tmp_path / "p.cq", "--checkpoint", tmp_path / "state") as (_, client):
        rows = [{"ts": 5_000, "n": 5_000, "name": "after"}]
        assert client.post("/streams/s", json=rows).status_code == 200
        after = shown(client)
    numbers = [json.loads(data)["row"]["n"] for data in after.values()]
    assert set(range(answered)) <= set(numbers)
    assert len(numbers) == len(set(numbers))
    assert before.items() <= after.items()
