"""A page in somebody's browser can neither change nor read anything: its host, or where it comes from, gives it away."""

import socket

import pytest

from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.serve.running import Running, running
from tests.support.waiting import wait_until

TOKEN = {"authorization": "Bearer s3cret"}
QUERY = b'{"text": "SELECT k FROM s", "name": "planted"}'
FROM_ELSEWHERE: list[dict[str, str]] = [
    {"origin": "http://evil.example"},
    {"origin": "http://localhost:1"},
    {"origin": "null"},
    {"origin": ""},
    {"origin": "http://{host}.evil.example"},
    {"origin": "http://evil.example/{host}"},
    {"origin": "http://evil.example://{host}"},
    {"origin": "http://{host}@evil.example"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "Cross-Site", "origin": "http://{host}"},
]
KINDS = ["application/json", "text/plain", "application/x-www-form-urlencoded", ""]


def own_host(service: Running) -> str:
    return service.address.removeprefix("http://")


@pytest.mark.parametrize("said", FROM_ELSEWHERE, ids=str)
@pytest.mark.parametrize("token", [None, "s3cret"])
def test_requests_of_pages_from_elsewhere_are_refused(
    said: dict[str, str], token: str | None
) -> None:
    with running(token=token) as service:
        headers = {name: value.format(host=own_host(service)) for name, value in said.items()}
        headers |= {} if token is None else TOKEN
        for kind in KINDS:
            for path in ("/queries", "/streams/s"):
                more = {**headers, "content-type": kind}
                assert service.client.post(path, content=QUERY, headers=more).status_code == 403
        for path in ("/queries", "/queries/total/invoke", "/results", "/metrics", "/health"):
            assert service.client.get(path, headers=headers).status_code == 403
        assert service.client.delete("/queries/big", headers=headers).status_code == 403
        assert service.client.options("/queries", headers=headers).status_code == 403
        listed = service.client.get("/queries", headers=TOKEN).json()["queries"]
        assert [each["name"] for each in listed] == ["big", "total"]


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data", "", "text/json", "x/y+json"])
def test_a_query_is_taken_as_json_only(kind: str) -> None:
    """A page may send other kinds without asking first; which of them a framework takes for JSON differs."""
    with running() as service:
        answer = service.client.post("/queries", content=QUERY, headers={"content-type": kind})
        assert answer.status_code == 415


def test_the_services_own_pages_and_programs_are_answered() -> None:
    with running() as service:
        for headers in (
            {"origin": service.address},
            {"origin": service.address.upper()},
            {"sec-fetch-site": "same-origin", "origin": service.address},
            {"sec-fetch-site": "none"},
            {},
        ):
            assert service.client.get("/queries", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("host", "tokens", "known"),
    [
        ("localhost", Tokens(), True),
        ("127.0.0.1:1", Tokens(), True),
        ("[::1]:8765", Tokens(), True),
        ("LOCALHOST.", Tokens(), True),
        ("rebound.example", Tokens(), False),
        ("10.0.0.1", Tokens(), False),
        ("queries.example:80", Tokens(), True),
        ("Queries.Example.", Tokens(), True),
        ("queries.example.evil.example", Tokens(), False),
        ("rebound.example", Tokens("s3cret"), False),
        ("10.0.0.1:8765", Tokens("s3cret"), True),
        ("[fe80::1]", Tokens("s3cret"), True),
        (socket.gethostname(), Tokens("s3cret"), True),
        ("queries.example", Tokens("s3cret"), True),
        ("", Tokens("s3cret"), False),
    ],
)  # fmt: skip
def test_the_host_must_be_one_that_the_service_knows(
    host: str, tokens: Tokens, known: bool
) -> None:
    with running(tokens=tokens, hosts=("queries.example",)) as service:
        answer = service.client.get("/queries", headers={**TOKEN, "host": host})
        assert answer.status_code == (200 if known else 403)
        if not known and host:
            assert f"--allow-host {host.partition(':')[0]}" in answer.json()["error"]


def test_what_a_host_header_holds_is_told_back_shortened_and_escaped() -> None:
    with running() as service:
        odd = b"\xff<script>" + b"x" * 5_000
        answer = service.client.get("/queries", headers=[(b"host", odd)])
        assert answer.status_code in (400, 403)
        assert len(answer.text) < 600
        assert answer.headers["content-type"].startswith(("application/json", "text/plain"))


def test_no_part_of_an_answer_waits_until_the_one_before_is_acknowledged() -> None:
    """Nagle's algorithm is off for every connection: with it a request on a kept connection took 40 ms longer."""
    with running() as service:
        assert service.client.get("/health").status_code == 200
        connections = service.server.server_state.connections
        wait_until(lambda: bool(connections))
        for connection in list(connections):
            accepted = connection.transport.get_extra_info("socket")  # type: ignore[union-attr]
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
