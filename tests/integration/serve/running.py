"""A real server on a free port of the loopback interface, in a thread of the test, and always stopped."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

import cqc
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
from cqc.runtime.serve.http.tokens import Tokens
from cqc.runtime.serve.limits import Limits
from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.spark.session.session import Session

PROGRAM = """
CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE, name STRING);
CREATE STREAM r (ts BIGINT, k BIGINT);
CREATE QUERY big AS SELECT k, x FROM s WHERE x > 10;
CREATE QUERY total AS SELECT COUNT(*) AS n, SUM(x) AS x FROM s BEGIN 0 END NOW;
"""


class Running:
    """A server that runs, and a client of it."""

    def __init__(self, server: ServiceServer, client: httpx.Client) -> None:
        self.server = server
        self.client = client
        self.address = server.address
        self.problems: list[str] = []

    def register(self, text: str, **more: str) -> dict[str, Any]:
        answer = self.client.post("/queries", json={"text": text, **more})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def push(self, stream: str, *rows: dict[str, Any]) -> dict[str, Any]:
        answer = self.client.post(f"/streams/{stream}", json=list(rows))
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def invoke(self, name: str, at: str | None = None) -> dict[str, Any]:
        answer = self.client.get(f"/queries/{name}/invoke", params={} if at is None else {"at": at})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def names(self) -> list[str]:
        return [query["name"] for query in self.client.get("/queries").json()["queries"]]

    def watch(
        self, count: int, path: str = "/results", last_id: str | None = None, since: str = "start"
    ) -> list[tuple[str, dict[str, Any]]]:
        """The first `count` results with their ids."""
        headers = {} if last_id is None else {"last-event-id": last_id}
        with self.client.stream("GET", path, params={"since": since}, headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            found = []
            for event in events_of(answer):
                if event["event"] == "result":
                    found.append((event["id"], json.loads(event["data"])))
                if len(found) == count:
                    return found
        raise AssertionError(f"the stream ended after {len(found)} results")


def events_of(answer: httpx.Response) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            yield fields
            fields = {}


@contextmanager
def running(
    program: str = PROGRAM,
    *,
    programs: tuple[str, ...] = (),
    token: str | None = None,
    tokens: Tokens | None = None,
    hosts: tuple[str, ...] = (),
    checkpoint: Path | None = None,
    folders: tuple[Path, ...] = (),
    binds: dict[str, str] | None = None,
    session: Session | None = None,
    port: int = 0,
    **limits: float,
) -> Iterator[Running]:
    """Serve a program while the block runs; with a Spark session its sources come through that."""
    problems: list[str] = []
    options = ServeOptions(
        programs=programs,
        port=port,
        tokens=tokens or Tokens(token),
        hosts=hosts,
        binds=binds or {},
        checkpoint=None if checkpoint is None else str(checkpoint),
        queries=tuple(map(str, folders)),
        engine="local" if session is None else "spark",
        limits=Limits(**limits),  # type: ignore[arg-type]  # whole numbers where they belong
    )
    server = ServiceServer(cqc.compile(program), options, problems.append, session)
    thread = threading.Thread(target=server.serve_until_stopped, daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=server.address, timeout=PATIENCE_S, trust_env=False) as client:
            found = Running(server, client)
            found.problems = problems
            yield found
    finally:
        server.stop()
        thread.join(timeout=PATIENCE_S)
        assert not thread.is_alive(), "the server did not stop"
