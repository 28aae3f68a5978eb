"""Who may speak to the service, and how much they may ask for."""

import threading

import pytest
from click.testing import CliRunner

from cqc.cli.commands.serve import serve_command
from cqc.runtime.networks.hosts import is_loopback
from cqc.runtime.pull.pull_query import Invocation
from cqc.runtime.serve.registry import Entry
from cqc.runtime.serve.service import Service
from tests.integration.serve.running import PROGRAM, running
from tests.support.waiting import PATIENCE_S


def test_a_token_is_needed_everywhere_but_for_health() -> None:
    with running(token="s3cret") as service:
        client = service.client
        assert client.get("/health").status_code == 200
        assert client.get("/queries").status_code == 401
        for wrong in (
            "Bearer s3cre",
            "Bearer s3cret2",
            "s3cret",
            "Basic s3cret",
            "Bearer",
            "Bearer é",
        ):
            headers = {"authorization": wrong.encode()}
            assert client.get("/queries", headers=headers).status_code == 401
        right = {"authorization": "Bearer s3cret"}
        assert client.get("/queries", headers=right).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_without_a_token_only_the_loopback_name_is_answered_to(host: str) -> None:
    with running() as service:
        answer = service.client.get("/queries", headers={"host": host})
        assert answer.status_code in (400, 403)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True), ("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("[::1]", True),
        ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("example.org", False), ("", False),
    ],
)  # fmt: skip
def test_which_hosts_are_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


def test_another_address_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CQC_TOKEN", raising=False)
    finished = CliRunner().invoke(serve_command, ["x.cq", "--host", "0.0.0.0"])
    assert finished.exit_code == 2
    assert "token" in finished.output


def test_a_body_over_the_limit_is_refused_however_it_comes() -> None:
    with running(body_bytes=1000) as service:
        big = b'[{"ts": 1}' + b" " * 2000 + b"]"
        headers = {"content-type": "application/json"}
        known = service.client.post("/streams/s", content=big, headers=headers)
        assert known.status_code == 413
        pieces = (big[at : at + 100] for at in range(0, len(big), 100))
        unknown = service.client.post("/streams/s", content=pieces, headers=headers)
        assert unknown.status_code == 413
        assert service.push("s", {"ts": 1})["accepted"] == 1


def test_long_queries_and_too_many_of_them_are_refused() -> None:
    with running(query_characters=50, queries=3) as service:
        long = "SELECT k FROM s WHERE k = 1" + " OR k = 1" * 10
        assert service.client.post("/queries", json={"text": long}).status_code == 413
        service.register("SELECT k FROM s")
        assert service.client.post("/queries", json={"text": "SELECT x FROM s"}).status_code == 429


def test_an_answer_with_too_many_rows_is_refused() -> None:
    with running(result_rows=2) as service:
        service.register("SELECT k FROM s BEGIN 0 END NOW", name="all_rows")
        service.push("s", *({"ts": ts} for ts in range(3)))
        assert service.client.get("/queries/all_rows/invoke").status_code == 413


def test_an_invocation_that_waits_too_long_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is kept busy until the client has its answer, so that answer can only be that of the limit."""
    told = threading.Event()
    invoke = Service.invoke

    def invoke_slowly(service: Service, name: str, at: str | None) -> tuple[Entry, Invocation]:
        assert told.wait(PATIENCE_S)
        return invoke(service, name, at)

    with running(invoke_seconds=0.05) as service:
        monkeypatch.setattr(Service, "invoke", invoke_slowly)
        try:
            answer = service.client.get("/queries/total/invoke")
        finally:
            told.set()
        assert answer.status_code == 504
        assert answer.json()["error"] == "no answer within 0.05 seconds; try again later"


def test_rows_so_far_ahead_that_the_engine_would_be_busy_for_ever_are_refused() -> None:
    with running(PROGRAM + "SET MAX_AHEAD = 0 SEC;", instants=1_000) as service:
        service.register("SELECT COUNT(*) AS n FROM s BEGIN NOW - 9 END NOW EVERY 10 SEC", name="e")
        service.push("s", {"ts": 1})
        service.push("s", {"ts": 10_001})
        assert service.client.get("/queries/e").json()["results"] == 1_000
        answer = service.client.post("/streams/s", json=[{"ts": 5}, {"ts": 20_021}])
        assert answer.status_code == 422
        assert "query e would have 1,001 instants" in answer.json()["error"]
        service.push("r", {"ts": 10**12})
        service.client.delete("/queries/e")
        assert service.push("s", {"ts": 10**12})["accepted"] == 1


def test_requests_beyond_the_queue_are_told_to_try_again() -> None:
    with running(waiting=0) as service:
        answer = service.client.get("/queries")
        assert answer.status_code == 503
        assert answer.headers["retry-after"] == "1"
