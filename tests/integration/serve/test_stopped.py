"""A query that would hold up all others is stopped alone, and everybody can see why."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cqc.cli.main import run_command
from tests.integration.serve.running import events_of, running
from tests.support.waiting import wait_until, write_whole

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EVERY = "SELECT COUNT(*) AS n FROM s BEGIN NOW - 9 END NOW EVERY"
PAIRS = "FROM s a, s b WHERE a.k = b.k"


def test_a_query_that_asks_too_often_is_stopped_and_the_rows_are_taken() -> None:
    with running(instants=1_000) as service:
        service.register(f"{EVERY} 1 MICROSECOND", name="often")
        service.register(f"{EVERY} 10 SEC", name="seldom")
        service.push("s", {"ts": 1})
        assert service.push("s", {"ts": 101})["accepted"] == 1
        often = service.client.get("/queries/often").json()
        assert often["stopped"] == (
            "its EVERY had 100,000,000 instants to answer at once, the limit for all queries is 1,000"
        )
        assert service.client.get("/queries/seldom").json()["stopped"] is None
        assert service.client.get("/queries/seldom").json()["results"] == 10
        assert service.invoke("total")["rows"][0]["n"] == 2
        answer = service.client.get("/queries/often/invoke")
        assert answer.status_code == 409
        assert "query often was stopped: its EVERY" in answer.json()["error"]
        assert service.problems == [f"query often was stopped: {often['stopped']}"]


def test_a_row_that_is_too_far_ahead_for_everybody_stops_nobody() -> None:
    with running(instants=1_000) as service:
        service.register(f"{EVERY} 100 MS", name="often")
        service.push("s", {"ts": 1})
        answer = service.client.post("/streams/s", json=[{"ts": 2_000}])
        assert answer.status_code == 422
        assert service.client.get("/queries/often").json()["stopped"] is None


def test_a_query_with_too_many_results_is_stopped_before_they_are_delivered() -> None:
    with running(batch_results=100) as service:
        service.register(f"SELECT a.x AS one, b.x AS two {PAIRS} MAXWINDOW 1 HOUR", name="pairs")
        rows = [{"ts": ts, "k": 1, "x": 11.0} for ts in range(20)]
        service.push("s", *rows)
        pairs = service.client.get("/queries/pairs").json()
        assert pairs["results"] == 0
        assert pairs["stopped"] == (
            "it had too many results in one micro-batch: the limit is 100, and one for each row"
        )
        assert {result["query"] for _, result in service.watch(20)} == {"big"}
        service.push("s", *({"ts": 20 + ts, "k": 1, "x": 11.0} for ts in range(200)))
        assert service.client.get("/queries/big").json()["stopped"] is None


def test_a_query_that_would_fill_the_memory_is_stopped_in_the_middle() -> None:
    with running(batch_results=10_000) as service:
        text = "SELECT a.x AS one FROM s a, s b, s c MAXWINDOW 1 HOUR"
        service.register(text, name="all")
        service.register(f"SELECT COUNT(*) AS n {PAIRS} AND a.ts = b.ts BEGIN 0 END NOW", name="n")
        rows = [{"ts": ts, "k": 1, "x": 11.0} for ts in range(3_000)]  # 27,000,000,000 combinations
        service.push("s", *rows)
        assert "too many results" in service.client.get("/queries/all").json()["stopped"]
        assert service.client.get("/queries/big").json()["results"] == 3_000
        assert service.invoke("n")["rows"] == [{"n": 3_000}]


def test_a_query_that_keeps_too_much_is_stopped() -> None:
    with running(kept_rows=1_000) as service:
        service.register(f"SELECT COUNT(*) AS n {PAIRS} BEGIN NOW - 1 HOUR END NOW", name="kept")
        for ts in range(5):
            service.push("s", *({"ts": ts, "k": 1} for _ in range(100)))
            service.client.get("/queries/kept/invoke")
        stopped = service.client.get("/queries/kept").json()["stopped"]
        assert stopped == "more than 1,000 combinations of its streams would be kept for it"


def test_a_query_that_finds_too_much_in_the_past_is_refused() -> None:
    with running(kept_rows=1_000) as service:
        service.push("s", *({"ts": ts, "k": 1} for ts in range(2_000)))
        text = "SELECT COUNT(*) AS n FROM s a, s b, s c BEGIN NOW - 1 HOUR END NOW"
        answer = service.client.post("/queries", json={"text": text, "name": "all"})
        assert answer.status_code == 413
        assert answer.json()["error"] == (
            "query all would make more than 1,000 combinations of the retained past"
        )
        service.register(
            f"SELECT COUNT(*) AS n {PAIRS} AND a.ts = 5 AND b.x = 1 BEGIN 5 END NOW", name="all"
        )
        service.push("s", {"ts": 2_000, "k": 1, "x": 1.0})
        assert service.invoke("all")["rows"] == [{"n": 1}]


def test_a_query_of_a_file_that_finds_too_much_is_listed_as_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "queries"
    folder.mkdir()
    for _ in range(2):
        with running(kept_rows=1_000, folders=(folder,), checkpoint=tmp_path / "state") as service:
            service.push("s", *({"ts": 1, "k": 1} for ts in range(200)))
            text = f"CREATE QUERY all AS SELECT COUNT(*) AS n {PAIRS} BEGIN 0 END NOW;"
            write_whole(folder / "a.cq", text + "CREATE QUERY k AS SELECT k FROM s;")
            wait_until(lambda: {"all", "k"} <= set(service.names()))
            info = service.client.get("/queries/all").json()
            assert (info["kind"], info["columns"]) == ("pull", [{"name": "n", "type": "BIGINT"}])
            assert "more than 1,000 combinations of the retained past" in info["stopped"]
            assert service.client.get("/queries/k").json()["stopped"] is None


def test_a_stopped_query_keeps_its_name_until_it_is_unregistered() -> None:
    with running(instants=10) as service:
        service.register(f"{EVERY} 1 MS", name="often")
        service.push("s", {"ts": 1}, {"ts": 9})
        answer = service.client.post("/queries", json={"text": "SELECT x FROM s", "name": "often"})
        assert answer.status_code == 409
        assert service.client.delete("/queries/often").status_code == 204
        assert "often" not in service.names()
        service.register("SELECT x FROM s", name="often")


def test_a_watcher_is_told_why_a_query_was_stopped(capsys: pytest.CaptureFixture[str]) -> None:
    with running(instants=10) as service:
        service.register(f"{EVERY} 100 MS", name="often")
        service.push("s", {"ts": 1}, {"ts": 1.5})
        service.push("s", {"ts": 9})
        with service.client.stream("GET", "/queries/often/results?since=start") as answer:
            end = [event for event in events_of(answer) if event["event"] == "end"]
        assert json.loads(end[0]["data"])["reason"] == "query stopped"
        assert run_command(["watch", "often", "--service", service.address]) == 3
        assert "error: query often was stopped: its EVERY" in capsys.readouterr().err
        assert run_command(["queries", "--service", service.address]) == 0
        shown = capsys.readouterr()
        assert "often  stopped" in shown.out
        assert "warning: query often was stopped: its EVERY" in shown.err


def test_a_stopped_query_is_stopped_after_a_restart_too(tmp_path: Path) -> None:
    with running(instants=100, checkpoint=tmp_path) as service:
        service.register(f"{EVERY} 1 MS", name="often")
        service.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", name="other")
        service.push("s", {"ts": 1}, {"ts": 9})
    for _ in range(2):
        with running(instants=100, checkpoint=tmp_path) as service:
            assert "its EVERY" in service.client.get("/queries/often").json()["stopped"]
            assert service.invoke("other")["rows"][0]["n"] == 2
            answer = service.client.post("/queries", json={"text": "SELECT 1", "name": "often"})
            assert answer.status_code >= 400
    with running(instants=100, checkpoint=tmp_path) as service:
        service.client.delete("/queries/often")
        service.register("SELECT x FROM s", name="often")
    with running(instants=100, checkpoint=tmp_path) as service:
        assert service.client.get("/queries/often").json()["stopped"] is None
