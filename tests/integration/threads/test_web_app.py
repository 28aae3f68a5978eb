"""An engine in a web application whose endpoints run in a pool of threads."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn
from fastapi import Body, FastAPI

import cqc
from tests.integration.threads.test_engine import COLUMNS, PROGRAM, random_rows, served_serially
from tests.integration.threads.workers import dealt, together
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


def application(engine: cqc.Engine) -> FastAPI:
    app = FastAPI()

    def push(stream: str, rows: list[dict[str, Any]] = Body()) -> int:  # noqa: B008 - as FastAPI wants it
        engine.push(stream, rows)
        return len(rows)

    def drain() -> list[list[Any]]:
        return [[each.query, each.ts, *each.row.values()] for each in engine.drain()]

    def invoke(query: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = engine.invoke(query).to_pylist()
        return rows

    # Plain functions: FastAPI runs each request of them in a thread of its pool.
    app.post("/push/{stream}")(push)
    app.post("/drain")(drain)
    app.get("/invoke/{query}")(invoke)
    return app


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started, "the server did not start")
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)


def test_a_web_application_pushes_drains_and_asks_from_its_pool_of_threads() -> None:
    program = cqc.compile(PROGRAM)
    engine = cqc.Engine(program)
    rows = random_rows(600, seed=7)

    def client(address: str, hand: Any) -> Counter[tuple[Any, ...]]:
        found: Counter[tuple[Any, ...]] = Counter()
        with httpx.Client(base_url=address, timeout=PATIENCE_S) as http:
            for name, row in hand:
                body = [dict(zip(COLUMNS[name], row, strict=True))]
                assert http.post(f"/push/{name}", json=body).raise_for_status().json() == 1
                if row[0] % 10 == 0:
                    found.update(map(tuple, http.post("/drain").raise_for_status().json()))
                    (answer,) = http.get("/invoke/counted").raise_for_status().json()
                    assert 0 <= answer["n"] <= len(rows)
        return found

    with served(application(engine)) as address:
        found = together(*(partial(client, address, hand) for hand in dealt(rows, 6)))
        with httpx.Client(base_url=address, timeout=PATIENCE_S) as http:
            found.append(Counter(map(tuple, http.post("/drain").json())))
            (answer,) = http.get("/invoke/counted").json()
    assert answer["n"] == sum(name == "a" for name, _ in rows)
    assert sum(found, Counter()) == served_serially(program, rows)
