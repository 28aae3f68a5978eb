"""One query cannot hold up the service: it is stopped alone, by a limit, by DELETE, or with the service."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any

import httpx

from tests.integration.serve.process import serving
from tests.integration.serve.running import running
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FIVE = (
    "FROM s a, s b, s c, s d, s e"
    " WHERE a.x < b.x AND b.x < c.x AND c.x < d.x AND d.x + a.x * e.x < 0"
)
ENDLESS = f"SELECT a.x AS x {FIVE} MAXWINDOW 1 HOUR"  # hours of work, and no result
ROWS = [{"ts": at, "k": 1, "x": 11.0 + at} for at in range(400)]
DECLARED = "CREATE STREAM s (ts BIGINT, k BIGINT, x DOUBLE); SELECT k, x FROM s;"


def meanwhile(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Do something in another thread; what came of it."""
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(work()), daemon=True)
    thread.start()
    return thread, done


def test_a_query_that_takes_too_long_is_stopped_alone_and_stays_so(tmp_path: Path) -> None:
    with running(query_seconds=0.3, checkpoint=tmp_path / "state") as service:
        service.register(ENDLESS, name="five")
        assert service.push("s", *ROWS)["accepted"] == len(ROWS)
        five = service.client.get("/queries/five").json()
        assert five["stopped"] == (
            "it took more than 0.3 seconds at once, which is what --query-seconds allows"
        )
        assert service.client.get("/queries/big").json()["results"] == len(ROWS)
        assert service.invoke("total")["rows"][0]["n"] == len(ROWS)
        assert f"query five was stopped: {five['stopped']}" in service.problems
    with running(query_seconds=0.3, checkpoint=tmp_path / "state") as service:
        assert service.client.get("/queries/five").json()["stopped"] == five["stopped"]
        service.push("s", {"ts": 500, "k": 1, "x": 12.0})
        assert service.invoke("total")["rows"][0]["n"] == len(ROWS) + 1


def test_a_pull_query_that_takes_too_long_to_register_is_refused() -> None:
    with running(query_seconds=0.3) as service:
        service.push("s", *ROWS)
        body = {"text": f"SELECT COUNT(*) AS n {FIVE} BEGIN NOW - 1 HOUR END NOW", "name": "all"}
        answer = service.client.post("/queries", json=body)
        assert answer.status_code == 413
        assert (
            "query all was given up while it was joined with the retained past: it took more"
            in (answer.json()["error"])
        )
        assert service.names() == ["big", "total"]


def test_health_says_what_the_engine_is_busy_with_and_delete_ends_it() -> None:
    with running(query_seconds=10_000) as service:
        service.register(ENDLESS, name="five")
        thread, pushed = meanwhile(lambda: service.push("s", *ROWS))

        def busy() -> Any:
            return service.client.get("/health").json()["busy"]

        wait_until(lambda: (busy() or {}).get("query") == "five", "nobody said what it was about")
        assert service.client.get("/health").json()["status"] == "busy"
        assert busy()["what"] == "400 rows of s"
        assert service.client.delete("/queries/five").status_code == 204
        thread.join(PATIENCE_S)
        assert pushed[0]["accepted"] == len(ROWS)
        assert service.names() == ["big", "total"]
        assert service.invoke("total")["rows"][0]["n"] == len(ROWS)
        assert service.client.get("/health").json()["busy"] is None
        service.register("SELECT x FROM s", name="five")  # the name is free again
        service.push("s", {"ts": 500, "k": 1, "x": 12.0})
        assert service.client.get("/queries/five").json()["results"] == 1


def test_delete_ends_a_registration_that_takes_long() -> None:
    with running(query_seconds=10_000, kept_rows=10**12) as service:
        service.push("s", *ROWS)
        body = {"text": f"SELECT COUNT(*) AS n {FIVE} BEGIN NOW - 1 HOUR END NOW", "name": "all"}
        thread, answers = meanwhile(lambda: service.client.post("/queries", json=body))
        wait_until(
            lambda: (service.client.get("/health").json()["busy"] or {}).get("query") == "all"
        )
        assert service.client.delete("/queries/all").status_code == 404  # it never was
        thread.join(PATIENCE_S)
        assert answers[0].status_code == 413
        assert "it is being removed" in answers[0].json()["error"]


def test_sigterm_ends_a_service_in_the_middle_and_nothing_half_done_is_kept(tmp_path: Path) -> None:
    program = tmp_path / "s.cq"
    program.write_text(DECLARED, encoding="utf-8")
    arguments = (program, "--checkpoint", tmp_path / "state", "--query-seconds", "10000")
    with serving(*arguments) as (process, client):
        client.post("/streams/s", json=ROWS[:3]).raise_for_status()
        client.post("/queries", json={"text": ENDLESS, "name": "five"}).raise_for_status()
        thread, answers = meanwhile(lambda: client.post("/streams/s", json=ROWS[3:]))
        with httpx.Client(base_url=client.base_url, timeout=PATIENCE_S, trust_env=False) as other:
            wait_until(lambda: other.get("/health").json()["status"] == "busy")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0
        thread.join(PATIENCE_S)
        assert answers[0].status_code == 503
        assert answers[0].json()["error"] == "the service is stopping; this was not done"
    with serving(program, "--checkpoint", tmp_path / "state") as (process, client):
        queries = {each["name"]: each for each in client.get("/queries").json()["queries"]}
        assert queries["q1"]["results"] == 3
        assert client.get("/health").json()["tuples"] == 3
        client.delete("/queries/five").raise_for_status()
        assert client.post("/streams/s", json=ROWS[3:]).json()["accepted"] == len(ROWS) - 3
