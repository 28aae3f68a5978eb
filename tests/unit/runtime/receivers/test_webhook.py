"""Results by HTTP: what is tried again, what is final, and what a request carries."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers.receiver import Setting
from cqc.runtime.receivers.webhook import WebhookReceiver
from cqc.runtime.run.finite_run import LocalRun
from tests.integration.sinks.receivers import Hook, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cqc.runtime.receivers.sender import SinkStatus


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


def send(folder: Path, url: str, more: str = "", rows: int = 3) -> SinkStatus:
    """Run a program that sends some rows of one query to the address."""
    (folder / "s.csv").write_text("ts,x\n" + "".join(f"{at},{at}\n" for at in range(rows)))
    (folder / "p.cq").write_text(
        f"CREATE SINK hook WITH (type = 'webhook', url = '{url}'{more});"
        "CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 's.csv');"
        "CREATE QUERY q INTO hook AS SELECT x FROM s;"
    )
    run = LocalRun(cqc.compile_files(folder / "p.cq"), RunOptions(programs=("p.cq",)))
    run.to_end()
    (status,) = run.close().sinks
    return status


def values(hook: Hook) -> list[int]:
    return [line["row"]["x"] for line in hook.lines()]


def test_a_request_is_the_result_line_with_its_id(hook: Hook, tmp_path: Path) -> None:
    send(tmp_path, hook.url, rows=1)
    ((headers, body),) = hook.bodies
    line = json.loads(body)
    assert {name: line[name] for name in ("query", "ts", "row")} == {
        "query": "q",
        "ts": 0,
        "row": {"x": 0},
    }
    assert headers["Idempotency-Key"] == line["id"]
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("status", [500, 503, 408, 425, 429])
def test_what_may_pass_is_tried_again(status: int, hook: Hook, tmp_path: Path) -> None:
    hook.answers = [status]
    told = send(tmp_path, hook.url)
    assert values(hook) == [0, 1, 2]
    assert (told.sent, told.failures, told.dead) == (3, 1, 0)


@pytest.mark.parametrize("status", [400, 401, 404, 301, 304])
def test_what_is_final_becomes_a_dead_letter_with_the_reason(
    status: int, hook: Hook, tmp_path: Path
) -> None:
    hook.answers = [status]
    told = send(tmp_path, hook.url, f", dead_letters = '{tmp_path}/dead.jsonl'", rows=1)
    assert (told.sent, told.dead) == (0, 1)
    (letter,) = map(json.loads, (tmp_path / "dead.jsonl").read_text().splitlines())
    assert (letter["status"], letter["attempts"], letter["row"]) == (status, 1, {"x": 0})
    assert str(status) in letter["reason"]
    assert len(letter["id"]) == 32


def test_retry_after_is_waited_for(hook: Hook, tmp_path: Path) -> None:
    hook.answers = [(429, {"Retry-After": "1"})]
    before = time.monotonic()
    send(tmp_path, hook.url, rows=1)
    assert values(hook) == [0]
    assert time.monotonic() - before >= 1.0


def test_retries_end_in_dead_letters(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}/"
    told = send(tmp_path, url, f", retries = 2, dead_letters = '{tmp_path}/dead.jsonl'", rows=1)
    assert (told.sent, told.dead, told.failures) == (0, 1, 3)
    (letter,) = map(json.loads, (tmp_path / "dead.jsonl").read_text().splitlines())
    assert letter["attempts"] == 3
    assert letter["status"] is None


def test_each_result_has_its_own_attempts(hook: Hook, tmp_path: Path) -> None:
    hook.answers = [503, 200, 503, 200, 503, 503, 500]
    letters = tmp_path / "dead.jsonl"
    told = send(tmp_path, hook.url, f", retries = 2, dead_letters = '{letters}'", rows=4)
    assert values(hook) == [0, 1, 3]
    assert (told.sent, told.dead) == (3, 1)
    (letter,) = map(json.loads, letters.read_text().splitlines())
    assert (letter["row"], letter["status"], letter["attempts"]) == ({"x": 2}, 500, 3)


def test_a_batch_is_an_array_and_a_retry_sends_the_same_one(hook: Hook, tmp_path: Path) -> None:
    hook.answers = [503]
    send(tmp_path, hook.url, ", batch = 2")
    bodies = [json.loads(body) for _, body in hook.bodies]
    assert [[line["row"]["x"] for line in body] for body in bodies] == [[0, 1], [2]]
    ids = "".join(line["id"] for line in bodies[0])
    assert hook.bodies[0][0]["Idempotency-Key"] == hashlib.sha256(ids.encode()).hexdigest()[:32]


def test_a_body_is_signed_and_carries_the_token(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_TOKEN", "s3cret")
    (tmp_path / "key").write_text("k3y\n")
    send(
        tmp_path,
        hook.url,
        ", token = ENV('HOOK_TOKEN'), hmac = FILE('key'), headers = 'X-Team: blue; X-Env: prod'",
        rows=1,
    )
    ((headers, body),) = hook.bodies
    signature = hmac.new(b"k3y", body, hashlib.sha256).hexdigest()
    assert headers["X-Cqc-Signature"] == f"sha256={signature}"
    assert headers["Authorization"] == "Bearer s3cret"
    assert (headers["X-Team"], headers["X-Env"]) == ("blue", "prod")


def test_a_secret_that_is_missing_is_named_and_never_shown(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"ENV\('NO_SUCH'\) has no value"):
        send(tmp_path, "http://127.0.0.1:9/", ", token = ENV('NO_SUCH')")


def test_a_template_is_filled_and_stays_json(hook: Hook, tmp_path: Path) -> None:
    send(tmp_path, hook.url, """, template = '{{"text": "x is {x} in {query}"}}'""", rows=1)
    ((_, body),) = hook.bodies
    assert json.loads(body) == {"text": "x is 0 in q"}


def test_slack_gets_a_text(hook: Hook, tmp_path: Path) -> None:
    send(tmp_path, hook.url, ", format = 'slack'", rows=1)
    ((_, body),) = hook.bodies
    assert json.loads(body) == {"text": "*q* 0: x = 0"}


def test_results_of_one_query_arrive_in_order(hook: Hook, tmp_path: Path) -> None:
    hook.answers = [200, 503, 200, 500]
    send(tmp_path, hook.url, rows=50)
    assert values(hook) == list(range(50))


@pytest.mark.parametrize(
    "options",
    [
        {"url": "ftp://x"},
        {"url": "http://"},
        {"url": "http://x", "headers": "no colon"},
        {"url": "http://x", "template": "single { brace"},
    ],
)
def test_options_that_cannot_be_are_told(options: dict[str, Any]) -> None:
    with pytest.raises(RunError):
        WebhookReceiver(Setting("hook", options, "p"))


def test_a_header_of_the_user_replaces_ours(hook: Hook, tmp_path: Path) -> None:
    more = ", headers = 'content-type: application/vnd.a+json; Host: hooks.test'"
    send(tmp_path, hook.url, more, rows=1)
    ((headers, _),) = hook.bodies
    assert headers["content-type"] == "application/vnd.a+json"
    assert "Content-Type" not in headers
    assert headers["Host"] == "hooks.test"


@pytest.mark.parametrize("headers", ['{"X-Team": "a\\nX-Env: b"}', "X-Team: \u4e2d"])
def test_headers_that_cannot_be_sent_are_refused_at_once(headers: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="headers cannot have"):
        send(tmp_path, "http://127.0.0.1:9/", f", headers = '{headers}'", rows=1)


def test_a_path_with_other_letters_is_quoted(hook: Hook, tmp_path: Path) -> None:
    told = send(tmp_path, f"{hook.url}/in caf\u00e9?a=%20b&c=1", rows=1)
    assert (told.sent, told.failures) == (1, 0)
