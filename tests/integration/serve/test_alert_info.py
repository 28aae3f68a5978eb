"""Alerts of a running service: `GET /alerts`, `cqc alerts`, metrics, and what dropping one delivers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from cqc.cli.main import run_command
from tests.integration.serve.running import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

ALERT = "CREATE ALERT hot SEVERITY 'high' AS SELECT x FROM s WHERE x > 5 PER k FOR 2 SEC NO DATA AFTER 1 HOUR"


@pytest.fixture
def service() -> Iterator[Running]:
    with running() as found:
        found.register(ALERT)
        found.push("s", {"ts": 1, "k": 1, "x": 9.0}, {"ts": 2, "k": 2, "x": 8.0})
        found.push("s", {"ts": 3, "k": 1, "x": 7.0})
        yield found


def test_keys_are_listed_with_their_state(service: Running) -> None:
    answer = service.client.get("/alerts").json()
    assert answer["alerts"] == [
        {"name": "hot", "severity": "high", "pending": 1, "firing": 1, "results": 1}
    ]
    shown = [(key["key"], key["state"], key["since"], key["count"]) for key in answer["keys"]]
    assert shown == [({"k": 1}, "firing", 1, 2), ({"k": 2}, "pending", 2, 1)]
    assert service.client.get("/alerts?query=nobody").json()["keys"] == []


def test_the_command_shows_them(service: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["alerts", "--service", service.address]) == 0
    text = capsys.readouterr().out
    assert "hot" in text
    assert "k = 1" in text
    assert run_command(["alerts", "hot", "--service", service.address, "--format", "json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["state"] == "firing"
    assert run_command(["alerts", "cold", "--service", service.address]) == 3


def test_metrics_count_them_by_state_and_severity(service: Running) -> None:
    text = service.client.get("/metrics").text
    assert 'cqc_alert_keys{state="firing",severity="high"} 1' in text
    assert 'cqc_alert_keys{state="pending",severity="high"} 1' in text


def test_one_that_is_dropped_while_it_fires_is_resolved(service: Running) -> None:
    service.client.delete("/queries/hot")
    service.push("s", {"ts": 9, "k": 1, "x": 0.0})
    lines = [line for _, line in service.watch(2)]
    assert [(line["ts"], line["alert"]["state"]) for line in lines if line["query"] == "hot"] == [
        (3, "firing"),
        (3, "resolved"),
    ]
