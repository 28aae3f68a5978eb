"""Rows by HTTP: what is taken, what is refused, and that a row is kept before its body is answered."""

from __future__ import annotations

import contextlib
import json
import socket
from typing import TYPE_CHECKING

import httpx
import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.sources import http
from cqc.runtime.sources.http import HttpFeed
from tests.integration.sinks.receivers import free_port
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation

JSON = {"content-type": "application/json"}
CSV = {"content-type": "text/csv"}
LINES = {"content-type": "application/x-ndjson"}


def stream(more: str) -> Relation:
    text = f"CREATE STREAM Rows (ts BIGINT, x BIGINT, d DECIMAL(30, 10), t STRING) WITH (format = 'http'{more})"
    return cqc.compile(text).catalog.relations["rows"]


class Listening:
    def __init__(self, folder: Path, more: str = "") -> None:
        port = free_port()
        self.feed = HttpFeed("rows", stream(f", port = {port}{more}"), folder, done={})
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60)
        self._spool = folder / "rows"

    def kept(self) -> str:
        return "".join(file.read_text() for file in sorted(self._spool.iterdir()))


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    made = Listening(tmp_path)
    with made.client:
        yield made
    made.feed.close()


def test_rows_are_kept_as_they_were_written_before_the_answer(listening: Listening) -> None:
    body = '[ {"ts": 1, "d": 12345678901234567890.0123456789,\n "t": "x]"} , {"ts": "no"} ]'
    answer = listening.client.post("/streams/ROWS", content=body, headers=JSON)
    assert answer.status_code == 200
    told = answer.json()
    assert (told["read"], told["accepted"], told["rejected"]) == (2, 1, 1)
    assert list(told["reasons"].values()) == [1]
    assert (
        listening.kept()
        == '{"ts": 1, "d": 12345678901234567890.0123456789,  "t": "x]"}\n{"ts": "no"}\n'
    )
    listening.client.post("/", content='{"ts": 2}', headers=JSON)
    listening.client.post("/", content='{"ts": 3}\r\n\r\n{"ts": 4}', headers=LINES)
    assert listening.kept().splitlines()[2:] == ['{"ts": 2}', '{"ts": 3}', "", '{"ts": 4}']


def test_csv_bodies_have_headers_of_their_own(listening: Listening) -> None:
    for body in ("ts,x,d,t\n1,2,3,a\n", "t,d,x,ts\r\nb,6,5,4", "t,d,x,ts\nc,9,8,7\n"):
        assert listening.client.post("/", content=body, headers=CSV).json()["accepted"] == 1
    assert listening.kept() == "ts,x,d,t\n1,2,3,a\nt,d,x,ts\nb,6,5,4\nc,9,8,7\n"


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        ("[1, 2]", JSON, 400),
        ('[{"ts": 1},]', JSON, 400),
        ('[{"ts": 1}] 2', JSON, 400),
        ('[{"ts": 1} {"ts": 2}]', JSON, 400),
        ("{", JSON, 400),
        ("[" * 100_000, JSON, 400),
        (b"\xff", JSON, 400),
        ("x,y\n1,2\n", CSV, 400),
        ('ts,x,d,t\n1,2,3,"a\n', CSV, 400),
        ("x", {"content-type": "text/plain"}, 415),
        ("x", {}, 415),
    ],
)
def test_a_broken_body_is_refused_as_a_whole(
    listening: Listening, body: str | bytes, headers: dict[str, str], status: int
) -> None:
    answer = listening.client.post("/", content=body, headers=headers)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert listening.kept() == ""
    assert listening.client.post("/", content="[]", headers=JSON).json()["read"] == 0


def test_other_paths_and_methods_are_told(listening: Listening) -> None:
    assert listening.client.post("/streams/other", content="[]", headers=JSON).status_code == 404
    assert listening.client.get("/streams/rows").status_code == 405


def test_a_body_may_not_be_endless(listening: Listening, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.sources.http.MOST_BYTES", 1_000)
    rows = json.dumps([{"ts": 1, "t": "x" * 2_000}])
    assert listening.client.post("/", content=rows, headers=JSON).status_code == 413


def test_a_token_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROWS_WORD", "hush")
    listening = Listening(tmp_path, ", token = ENV('ROWS_WORD')")
    with listening.client as client:
        assert client.post("/", content="[]", headers=JSON).status_code == 401
        wrong = {**JSON, "authorization": "Bearer other"}
        assert client.post("/", content="[]", headers=wrong).status_code == 401
        right = {**JSON, "authorization": "Bearer hush"}
        assert client.post("/", content="[]", headers=right).status_code == 200
    listening.feed.close()


def test_what_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="needs WITH"):
        HttpFeed("rows", stream(""), tmp_path, done={})
    with pytest.raises(RunError, match="would take rows from anybody"):
        HttpFeed("rows", stream(", port = 1, host = '0.0.0.0'"), tmp_path, done={})
    with pytest.raises(RunError, match="cannot listen for Rows"):
        HttpFeed(
            "rows", stream(", port = 1, host = 'no.such.host.', token = 'x'"), tmp_path, done={}
        )


def connect(listening: Listening) -> socket.socket:
    port = listening.client.base_url.port
    assert port is not None
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def test_silent_connections_lock_nobody_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_CONNECTIONS", 8)
    monkeypatch.setattr(http, "HEAD_S", 1e6)
    listening = Listening(tmp_path)
    with contextlib.ExitStack() as stack:
        stack.callback(listening.feed.close)
        stack.enter_context(listening.client)
        for _ in range(20):
            stack.enter_context(connect(listening)).sendall(b"POST /streams/rows HT")
        for number in range(20):  # each of a connection of its own
            headers = {**JSON, "connection": "close"}
            answer = listening.client.post("/", content=f'{{"ts": {number}}}', headers=headers)
            assert answer.status_code == 200


def test_who_says_nothing_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "HEAD_S", 0.05)
    listening = Listening(tmp_path)
    with listening.client, connect(listening) as connection:
        assert connection.recv(1) == b""
    listening.feed.close()


def test_a_body_that_never_ends_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_S", 0.05)
    listening = Listening(tmp_path)
    with listening.client, connect(listening) as connection:
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        connection.sendall(head + b"content-length: 1000\r\n\r\n[")
        assert connection.recv(12) == b"HTTP/1.1 408"
    listening.feed.close()


def test_bodies_together_may_not_hold_too_much(
    listening: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "MOST_WAITING_BYTES", 1_000)
    rows = json.dumps([{"ts": 1, "t": "x" * 600}])
    with connect(listening) as connection:
        head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        connection.sendall(head + b"content-length: 1000\r\n\r\n[" + b" " * 700)
        wait_until(
            lambda: listening.client.post("/", content=rows, headers=JSON).status_code == 429
        )
    wait_until(lambda: listening.client.post("/", content=rows, headers=JSON).status_code == 200)


@pytest.mark.parametrize(
    ("body", "headers"),
    [("[" + "{}," * 10 + "{}]", JSON), ("{}\n" * 11, LINES), ("ts\n" + "1\n" * 11, CSV)],
)
def test_a_body_may_not_have_endless_rows(
    listening: Listening, monkeypatch: pytest.MonkeyPatch, body: str, headers: dict[str, str]
) -> None:
    monkeypatch.setattr("cqc.runtime.sources.http_rows.MOST_ROWS", 10)
    answer = listening.client.post("/", content=body, headers=headers)
    assert (answer.status_code, "more than 10 rows" in answer.text) == (413, True)
    assert listening.kept() == ""


@pytest.mark.parametrize(
    "more",
    [
        {"host": "evil.example:8080"},  # a page whose name was made to point to this machine
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
    ],
)
def test_a_page_in_a_browser_cannot_push(listening: Listening, more: dict[str, str]) -> None:
    answer = listening.client.post("/", content='{"ts": 1}', headers={**JSON, **more})
    assert (answer.status_code, list(answer.json())) == (403, ["error"])
    assert listening.kept() == ""
