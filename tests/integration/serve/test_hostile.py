"""Whatever a client sends, the answer is a clear refusal, nothing is a 500, and the service goes on."""

import contextlib
import io
import socket
from collections.abc import Iterator

import httpx
import pyarrow as pa
import pytest

from tests.integration.serve.running import Running, running
from tests.support.waiting import PATIENCE_S, wait_until


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        yield found
        found.push("s", {"ts": 10**6, "x": 1.0})
        assert found.invoke("total")["rows"][0]["n"] >= 1
        assert found.problems == []


def arrow(table: pa.Table, **options: str) -> bytes:
    sink = io.BytesIO()
    write = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, table.schema, options=write) as writer:
        writer.write_table(table)
    return sink.getvalue()


GOOD_ARROW = arrow(pa.table({"ts": [1, 2], "name": ["a", "b"]}))
TEXTS = [
    b"", b"null", b"{", b"[[[", b"[" * 100_000, b'{"text": 5}', b'{"text": null}', b"[1]", b'"x"',
    b'{"text": "\\ud800"}', b'{"text": "SELECT \\u0000 FROM s"}', b'{"text": "SELECT k FROM s", "name": "\\ud800"}',
    b'{"text": "SELECT k FROM s", "name": ""}', b'{"text": "SELECT k FROM s", "name": 7}', b"\xff\xfe",
    b'{"text": ""}', b'{"text": ";"}', b'{"text": "DROP TABLE s"}', b'{"text": "CREATE STREAM z (ts BIGINT)"}',
    b'{"text": "SELECT k FROM s; SELECT x FROM s"}', b'{"text": "SELECT k FROM s WHERE name LIKE \'%"}',
    b'{"text": "SELECT __import__(name) FROM s"}', b'{"text": "SELECT k FROM \'/etc/passwd\'"}',
    b'{"text": "SELECT ' + b"(" * 20_000 + b'"}', b'{"text": "SELECT ' + b"-" * 50_000 + b'k FROM s"}',
    b'{"text": "SELECT ' + b"NOT " * 20_000 + b'TRUE FROM s"}',
    b'{"text": "SELECT k FROM s", "name": "' + b"n" * 10_000 + b'"}',
    b'{"text": "SELECT ' + b"9" * 5_000 + b' FROM s"}',
]  # fmt: skip


@pytest.mark.parametrize("body", TEXTS, ids=lambda body: repr(body[:40]))
def test_a_registration_that_is_none_is_refused(service: Running, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = service.client.post("/queries", content=body, headers=headers)
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])
    assert answer.json()["error"]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b"5"),
        ("application/json", b"[" * 100_000),
        ("application/json", b'[{"ts": ' + b"9" * 5_000 + b"}]"),
        ("text/csv", b"nothing,here\n1,2\n"),
        ("application/vnd.apache.arrow.stream", b""),
        ("application/vnd.apache.arrow.stream", b"\xff" * 100),
        ("application/vnd.apache.arrow.stream", GOOD_ARROW[:-20]),
        ("application/vnd.apache.arrow.stream", GOOD_ARROW[:150]),
        (
            "application/vnd.apache.arrow.stream",
            arrow(pa.table({"ts": [1] * 99}), compression="zstd"),
        ),
        ("application/xml", b"<x/>"),
        ("", b"[]"),
    ],
)
def test_rows_that_are_none_are_refused(service: Running, kind: str, body: bytes) -> None:
    answer = service.client.post("/streams/s", content=body, headers={"content-type": kind})
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])


@pytest.mark.parametrize(
    "body",
    [
        b'[{"ts": NaN}, {"ts": 1e400}, {"ts": true}, {"ts": "1x"}, {"ts": [1]}, {"ts": {}}, {"ts": null}, {}]',
        b'[{"ts": 9223372036854775807}, {"ts": 1.5}, {"TS": "x", "ts": null}, [], null, "x"]',
        b'[{"ts": 1, "name": "\\ud800"}, {"ts": 1, "x": "NaN?"}, {"ts": 1, "k": 9223372036854775808}]',
    ],
)
def test_rows_that_do_not_fit_are_rejected_alone(service: Running, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = service.client.post("/streams/s", content=body, headers=headers)
    assert answer.status_code == 200
    assert answer.json()["accepted"] == 0
    assert answer.json()["rejected"] == answer.json()["read"]


def test_bytes_of_an_arrow_stream_may_be_anything(service: Running) -> None:
    """Every byte of a small stream changed in turn: refused or taken, never a crash."""
    headers = {"content-type": "application/vnd.apache.arrow.stream"}
    for at in range(0, len(GOOD_ARROW), 7):
        broken = GOOD_ARROW[:at] + bytes([GOOD_ARROW[at] ^ 0xFF]) + GOOD_ARROW[at + 1 :]
        answer = service.client.post("/streams/r", content=broken, headers=headers)
        assert answer.status_code in (200, 400), (at, answer.text[:300])


@pytest.mark.parametrize(
    "path",
    [
        "/queries/%00", "/queries/..%2F..%2Fetc%2Fpasswd", "/queries/%FF%FE", "/queries/" + "x" * 5_000,
        "/queries/big/invoke?at=%00", "/queries/total/invoke?at=soon", "/queries/total/invoke?at=NaN",
        "/queries/total/invoke?at=1e999", "/queries/total/invoke?at=" + "9" * 300, "/results?since=%00",
        "/streams/", "/nothing", "/queries/nobody/results", "/queries/total/invoke?at=%F0%9F%98%80",
        "/queries/total/invoke?at=", "/queries/%F0%9F%98%80/invoke",
    ],
)  # fmt: skip
def test_odd_paths_and_instants_are_refused(service: Running, path: str) -> None:
    answer = service.client.get(path)
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /queries HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /queries HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n",
        b"GET /queries HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100,
    ],
    ids=["nothing", "a word", "version", "negative", "huge", "long header", "tls"],
)
def test_what_is_not_http_does_no_harm(service: Running, request_bytes: bytes) -> None:
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        answer = b""
        with contextlib.suppress(OSError):  # a server may hang up on a caller like this
            connection.sendall(request_bytes)
            connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(65_536):
                answer += part
    assert not answer.startswith(b"HTTP/1.1 5")
    assert service.client.get("/health").status_code == 200


def test_a_client_that_hangs_up_halfway_does_no_harm(service: Running) -> None:
    host, port = service.address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(
            b"POST /streams/s HTTP/1.1\r\nhost: localhost\r\ncontent-type: text/csv\r\ncontent-length: 1000\r\n\r\nts,k"
        )
    assert service.client.get("/queries").status_code == 200


def test_methods_that_do_not_exist_are_refused(service: Running) -> None:
    for method in ("PUT", "PATCH", "DELETE", "TRACE"):
        answer = service.client.request(method, "/queries")
        assert answer.status_code == 405


def test_the_answer_to_an_error_shows_no_internals(service: Running) -> None:
    answer = service.client.post("/queries", json={"text": "SELECT"})
    assert "Traceback" not in answer.text
    assert "server" not in httpx.Headers(answer.headers)


# Those who keep the service waiting. Each limit is short, and what the service waits for never comes: nothing else can happen.


def connect(service: Running) -> socket.socket:
    host, port = service.address.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def everything_from(connection: socket.socket) -> bytes:
    """Until the service hangs up."""
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65_536):
            found += part
    return found


@pytest.mark.parametrize("head", [b"", b"G", b"GET /queries HTTP/1.1\r\nhost: loc"])
def test_who_does_not_finish_the_head_of_a_request_is_hung_up_on(head: bytes) -> None:
    with running(head_seconds=0.05) as service, connect(service) as connection:
        with contextlib.suppress(ConnectionError):  # it may be over before it began
            connection.sendall(head)
        assert everything_from(connection) == b""


@pytest.mark.parametrize("path", [b"/streams/s", b"/queries"])
def test_who_does_not_send_the_body_is_told_so_and_hung_up_on(path: bytes) -> None:
    with running(body_seconds=0.05) as service, connect(service) as connection:
        connection.sendall(
            b"POST " + path + b" HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            b"content-length: 1000\r\n\r\n["
        )
        answer = everything_from(connection)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"the body did not come within 0.05 seconds" in answer
        assert service.client.get("/queries").status_code == 200


def test_a_flood_of_watchers_leaves_nothing_behind(service: Running) -> None:
    for _ in range(5):
        connections = [connect(service) for _ in range(20)]
        for connection in connections:
            connection.sendall(b"GET /results?since=start HTTP/1.1\r\nhost: localhost\r\n\r\n")
        for connection in connections[::2]:
            assert connection.recv(12) == b"HTTP/1.1 200"
        for connection in connections:
            connection.close()
    wait_until(lambda: "\ncqc_watchers 0\n" in service.client.get("/metrics").text)


NESTED = b"[" * 500 + b"]" * 500


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/queries", b'{"text": ' + NESTED + b"}"),
        ("/queries", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        ("/queries", b'{"text": NaN}'),
        ("/queries", b'{"text": "SELECT k FROM s", "name": Infinity}'),
        ("/queries", b'{"text": "\x00"}'),
        ("/queries", b'{"text": "\xc3\x28"}'),
        ("/streams/s", b'{"a":' * 50_000 + b"1" + b"}" * 50_000),
        ("/streams/s", b"\xff\xfe[]"),
        ("/streams/s%00", b"[]"),
        ("/streams/" + "s" * 50_000, b"[]"),
        ("/streams/../streams/%2e%2e/s", b"[]"),
        ("/streams/%2e%2e%2fetc%2fpasswd", b"[]"),
        ("//streams/s", b"[]"),
    ],
)
def test_odd_bodies_and_places_are_refused(service: Running, path: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    answer = service.client.post(path, content=body, headers=headers)
    assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])


@pytest.mark.parametrize(
    "kind", ["text/html", "multipart/form-data; boundary=x", "json", "\x7f/;;", "a" * 9000]
)
def test_other_kinds_of_content_are_refused(service: Running, kind: str) -> None:
    for path in ("/queries", "/streams/s"):
        answer = service.client.post(path, content=b"{}", headers={"content-type": kind})
        assert 400 <= answer.status_code < 500, (answer.status_code, answer.text[:300])


def test_rows_may_be_nested_as_deep_as_they_like(service: Running) -> None:
    body = b'[{"ts": 1, "x": ' + NESTED + b', "unknown": {"a": ' + NESTED + b"}}]"
    headers = {"content-type": "application/json"}
    answer = service.client.post("/streams/r", content=body, headers=headers)
    assert (answer.status_code, answer.json()["read"]) == (200, 1)


@pytest.mark.parametrize(
    "given",
    [b"", b"Bearer", b"Bearer \xff\xfe", b"Bearer " + b"x" * 50_000, b"bearer s3cret x", b"Bearer\ts3cret",
     b"Basic czNjcmV0", b"Bearer s3cre\xc3\xa9", b"Bearer s3cret,Bearer s3cret"],
)  # fmt: skip
def test_tokens_that_are_none_are_refused(given: bytes) -> None:
    with running(token="s3cret") as service:
        headers = [(b"authorization", given)]
        assert service.client.get("/queries", headers=headers).status_code == 401
        health = service.client.get("/health", headers=headers)
        assert (health.status_code, health.json()["problems"]) == (200, [])


def answer_to(service: Running, sent: bytes) -> bytes:
    with connect(service) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        return everything_from(connection)


HEAD = b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
JSON = b"content-type: application/json\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"POST /streams/r" + HEAD + JSON + b"content-length: 2\r\ncontent-length: 3\r\n\r\n[]", b"400"),
        (b"POST /streams/r" + HEAD + JSON + b"transfer-encoding: chunked\r\n\r\nZZ\r\n[]\r\n", b"400"),
        (b"POST /streams/r" + HEAD + JSON + b"transfer-encoding: gzip\r\n\r\n[]", b"400"),
        (b"GET /health HTTP/1.1\r\nhost: localhost\r\nhost: evil.example\r\n\r\n", b"400"),
        (b"GET http://evil.example/health" + HEAD + b"\r\n", b"404"),
        (b"CONNECT evil.example:80" + HEAD + b"\r\n", b"404"),
        (b"OPTIONS *" + HEAD + b"\r\n", b"404"),
        (b"GET health" + HEAD + b"\r\n", b"404"),
        (b"GET /health#x" + HEAD + b"\r\n", b"404"),
        (b"GET /queries/a\x00b" + HEAD + b"\r\n", b"400"),
        (b"GET /queries/%zz/%2" + HEAD + b"\r\n", b"404"),
        (b"GET /queries/" + b"/" * 30_000 + b"invoke" + HEAD + b"\r\n", b"404"),
        (b"GET /queries/" + b"/invoke" * 5_000 + b"x" + HEAD + b"\r\n", b"404"),
        (b"GET /queries/total/invoke?at=%ff&at=%" + HEAD + b"\r\n", b"422"),
        (b"GET /results" + HEAD + b"last-event-id: \xff-9\xff\r\n\r\n", b"422"),
        (b"GET /health" + HEAD + b"".join(b"x-%d: y\r\n" % n for n in range(4_000)) + b"\r\n", b"200"),
        (b"GET /health" + HEAD + b"range: bytes=" + b"0-," * 9_000 + b"\r\n\r\n", b"200"),
        (b"GET /health" + HEAD + b"upgrade: websocket\r\nsec-websocket-version: 13\r\n\r\n", b"200"),
    ],
    ids=lambda given: repr(given[:30]),
)  # fmt: skip
def test_odd_requests_have_plain_answers(service: Running, sent: bytes, status: bytes) -> None:
    answer = answer_to(service, sent)
    assert answer.startswith(b"HTTP/1.1 " + status), answer[:200]
    assert b"Traceback" not in answer


def test_requests_that_come_all_at_once_are_answered_one_after_the_other(service: Running) -> None:
    push = (
        b"POST /streams/r HTTP/1.1\r\nhost: localhost\r\n" + JSON + b"content-length: 2\r\n\r\n[]"
    )
    broken = push.replace(b"[]", b"[{")
    last = b"GET /health" + HEAD + b"\r\n"
    answer = answer_to(service, (push + broken) * 50 + last)
    assert answer.count(b"HTTP/1.1 200") == 51
    assert answer.count(b"HTTP/1.1 400") == 50


def test_more_connections_than_there_may_be_are_told_to_try_again() -> None:
    with running(connections=5) as service:
        assert service.client.get("/health").status_code == 200  # which keeps its connection
        idle = [connect(service) for _ in range(4)]
        for connection in idle:  # so that it is sure that the service knows them
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
        refused = answer_to(service, b"GET /health" + HEAD + b"\r\n")
        assert refused == b"" or refused.startswith(b"HTTP/1.1 503")  # a reset may be quicker
        assert service.client.get("/queries").status_code == 200
        for connection in idle:
            connection.close()
        wait_until(lambda: len(service.server.server_state.connections) == 1)
        assert answer_to(service, b"GET /health" + HEAD + b"\r\n").startswith(b"HTTP/1.1 200")
        assert service.problems == []


def test_more_watchers_than_there_may_be_are_told_to_try_again() -> None:
    with running(watchers=2) as service, contextlib.ExitStack() as stack:
        for _ in range(2):
            answer = stack.enter_context(service.client.stream("GET", "/results"))
            assert answer.status_code == 200
        refused = service.client.get("/results")
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert service.client.get("/queries").status_code == 200
