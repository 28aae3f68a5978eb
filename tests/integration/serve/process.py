"""The command `cqc serve` as a process of its own, always ended."""

import json
import os
import re
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.integration.serve.running import events_of
from tests.support.waiting import PATIENCE_S

ROOT = Path(__file__).parents[3]


@contextmanager
def serving(
    *arguments: str | Path, verify: ssl.SSLContext | bool = True
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """The process and a client of it; the process is ended with the block."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CQC_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "cqc.cli.main", "serve", *map(str, arguments), "--port", "0"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        cwd=ROOT,
        env=environment,
    )
    assert process.stderr is not None
    try:
        said, found = "", None
        while found is None and (line := process.stderr.readline()):
            said += line
            found = re.search(r"https?://\S+", line)
        assert found, said
        with httpx.Client(
            base_url=found[0], timeout=PATIENCE_S, trust_env=False, verify=verify
        ) as client:
            yield process, client
    finally:
        process.kill()
        process.wait(timeout=PATIENCE_S)
        process.stderr.close()


def first_result(client: httpx.Client, last_id: str = "") -> tuple[str, dict[str, object]]:
    """The id and the result that is kept after an id, or the first one; it is waited for as long as the test may take."""
    headers = {"last-event-id": last_id} if last_id else {}
    with client.stream("GET", "/results?since=start", headers=headers) as answer:
        event = next(events_of(answer))
    assert event["event"] == "result"
    return event["id"], json.loads(event["data"])
