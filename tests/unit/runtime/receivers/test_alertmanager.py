"""Alertmanager is told of what fires, again every minute, until it ends. Bodies are checked against its published schema."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.receivers import alertmanager
from cqc.runtime.receivers.alertmanager import AGAIN_S, AlertmanagerReceiver
from cqc.runtime.receivers.receiver import Columns, RefusedError, Sent, Setting
from cqc.runtime.receivers.sink_test import send_test
from cqc.runtime.run.finite_run import LocalRun
from tests.integration.sinks.receivers import Hook

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
COLUMNS = Columns(("x",), ("BIGINT",), "BIGINT")


def check_schema(alert: dict[str, Any]) -> None:
    """`postableAlert` of Alertmanager's OpenAPI document, version 2."""
    assert alert.keys() <= {"labels", "annotations", "startsAt", "endsAt", "generatorURL"}
    assert alert["labels"]
    for part in (alert["labels"], alert["annotations"]):
        assert all(LABEL.fullmatch(name) and isinstance(text, str) for name, text in part.items())
    for name in ("startsAt", "endsAt"):
        assert datetime.fromisoformat(alert[name]).tzinfo is not None


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


def alerts_in(hook: Hook) -> list[dict[str, Any]]:
    found = [alert for _, body in hook.bodies for alert in json.loads(body)]
    for alert in found:
        check_schema(alert)
    return found


def sent(number: int, state: str, key: str, ts: int) -> Sent:
    told = {"state": state, "severity": None, "key": {"k": key}, "since": 1, "count": 1}
    line = json.dumps({"query": "hot", "ts": ts, "row": {"x": 1}, "alert": told})
    return Sent(number, f"id{number}", "hot", line, COLUMNS)


def receiver(hook: Hook, folder: Path | None = None, run: str = "r") -> AlertmanagerReceiver:
    url = hook.url.removesuffix("/in")
    place = None if folder is None else str(folder)
    return AlertmanagerReceiver(Setting("am", {"url": url}, "p", ".", place, run))


def test_a_run_sends_its_alerts_and_nothing_that_is_pending(hook: Hook, tmp_path: Path) -> None:
    rows = [(1, "a", 5), (3, "a", 6), (9, "a", 0), (10, "b", 7)]
    (tmp_path / "s.csv").write_text("ts,k,x\n" + "".join(f"{t},{k},{x}\n" for t, k, x in rows))
    (tmp_path / "p.cq").write_text(
        f"CREATE SINK am WITH (type = 'alertmanager', url = '{hook.url.removesuffix('/in')}');"
        "CREATE STREAM s (ts BIGINT, k STRING, x BIGINT) WITH (path = 's.csv');"
        "CREATE ALERT hot SEVERITY 'high' INTO am AS SELECT x FROM s WHERE x > 1 PER k FOR 2 SEC NO DATA AFTER 1 HOUR"
        " WITH (summary = 'at {x}', pending = true);"
    )
    run = LocalRun(cqc.compile_files(tmp_path / "p.cq"), RunOptions(programs=("p.cq",)))
    run.to_end()
    (status,) = run.close().sinks
    assert (status.sent, status.dead) == (4, 0)
    found = alerts_in(hook)
    assert [each["labels"] for each in found] == [
        {"k": "a", "severity": "high", "alertname": "hot"}
    ] * 2
    assert [each["annotations"]["summary"] for each in found] == ["at 6", "at 0"]
    assert found[1]["endsAt"] == "1970-01-01T00:00:09.000Z"
    lasts = datetime.fromisoformat(found[0]["endsAt"]).timestamp() - datetime.now().timestamp()
    assert 200 < lasts < 241


def test_what_fires_is_sent_again_every_minute_until_it_ends(
    hook: Hook, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(alertmanager.time, "monotonic", lambda: now[0])
    made = receiver(hook, run="again")
    made.send([sent(1, "firing", "a", 5), sent(2, "firing", "b", 6)])
    made.tick()
    assert len(hook.bodies) == 1
    now[0] += AGAIN_S
    made.tick()
    assert [each["labels"]["k"] for each in alerts_in(hook)] == ["a", "b", "a", "b"]
    made.send([sent(3, "no_data", "a", 9)])
    now[0] += AGAIN_S
    made.tick()
    assert [each["labels"]["k"] for each in alerts_in(hook)[4:]] == ["a", "b"]
    made.send([sent(4, "resolved", "b", 9)])
    count = len(hook.bodies)
    now[0] += AGAIN_S
    made.tick()
    assert len(hook.bodies) == count


def test_a_run_that_goes_on_sends_again_what_fired_before(hook: Hook, tmp_path: Path) -> None:
    receiver(hook, tmp_path).send([sent(1, "firing", "a", 5)])
    again = receiver(hook, tmp_path)
    again.tick()
    assert [each["labels"]["k"] for each in alerts_in(hook)] == ["a", "a"]


def test_a_row_that_is_no_alert_is_refused(hook: Hook) -> None:
    line = json.dumps({"query": "q", "ts": 1, "row": {"x": 1}})
    with pytest.raises(RefusedError, match="no alert"):
        receiver(hook).send([Sent(1, "id", "q", line, COLUMNS)])


def test_a_test_is_an_alert_that_is_over_at_once(hook: Hook) -> None:
    url = hook.url.removesuffix("/in")
    program = cqc.compile(f"CREATE SINK am WITH (type = 'alertmanager', url = '{url}');")
    send_test("p", program.catalog.sinks["am"])
    (alert,) = alerts_in(hook)
    assert alert["startsAt"] == alert["endsAt"]
    assert "test" in alert["annotations"]["summary"]
