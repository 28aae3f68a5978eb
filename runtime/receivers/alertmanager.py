"""Alerts to Alertmanager: what fires is sent again every minute until it ends, as Alertmanager expects of its clients.

An alert that is not sent again ends by itself after four minutes. So what fires is kept in a file beside the spool (in memory without a
checkpoint), and a run that goes on after a crash goes on sending it.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.files.sealed import read_sealed_json, write_sealed_json
from cqc.runtime.receivers.alert_payloads import ENDED, instant_text, posted_alert
from cqc.runtime.receivers.receiver import RefusedError
from cqc.runtime.receivers.webhook import Requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting

PATH = "/api/v2/alerts"
AGAIN_S = 60.0
LASTS_S = 240.0
_MOST = 500  # alerts of one request
_kept: dict[tuple[str, str, str], dict[str, Any]] = {}  # of runs without a checkpoint


class AlertmanagerReceiver:
    """Sends alerts to one Alertmanager.

    Raises:
        RunError: when the address cannot be.
    """

    at_once = _MOST

    def __init__(self, setting: Setting) -> None:
        url = setting.options["url"].rstrip("/")
        address = url if url.endswith(PATH) else url + PATH
        self._requests = Requests({**setting.options, "url": address})
        self._path = None if setting.folder is None else Path(setting.folder) / "firing.json"
        self._firing: dict[str, Any] = {}  # what was sent last of each, by its labels
        if self._path is None:
            self._firing = _kept.setdefault((setting.program, setting.sink, setting.run), {})
        elif self._path.exists():
            self._firing = dict(read_sealed_json(self._path)["firing"])
        self._sent_at = 0.0 if self._firing else time.monotonic()

    def send(self, results: Sequence[Sent]) -> None:
        until_s = time.time() + LASTS_S
        posted, has_changed = [], False
        for each in results:
            value = each.value()
            if value.get("test"):
                posted.append(_test_alert(value))
                continue
            alert = value.get("alert")
            if alert is None:
                raise RefusedError(f"query {each.query} is no alert", refused=[each.number])
            if alert["state"] == "pending":
                continue
            made = posted_alert(each.query, value, until_s)
            posted.append(made)
            name = json.dumps(made["labels"], sort_keys=True)
            has_changed = True
            if alert["state"] in ENDED:
                self._firing.pop(name, None)
            else:
                self._firing[name] = made
        if has_changed:
            self._remember()
        if posted:
            key = results[0].id if len(results) == 1 else results[-1].id
            self._requests.post(_body(posted), key, is_json=True)

    def tick(self) -> None:
        """Send what fires again, when a minute has passed."""
        if not self._firing:
            self._sent_at = time.monotonic()
            return
        if time.monotonic() - self._sent_at < AGAIN_S:
            return
        until = instant_text(time.time() + LASTS_S)
        firing = [{**each, "endsAt": until} for each in self._firing.values()]
        for at in range(0, len(firing), _MOST):
            self._requests.post(_body(firing[at : at + _MOST]), f"again-{at}", is_json=True)
        self._sent_at = time.monotonic()

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        self._requests.close()

    def _remember(self) -> None:
        if self._path is not None:
            write_sealed_json(self._path, {"firing": self._firing}, durably=False)


def _body(alerts: Sequence[dict[str, Any]]) -> bytes:
    return json.dumps(list(alerts), ensure_ascii=False).encode()


def _test_alert(value: dict[str, Any]) -> dict[str, Any]:
    """An alert that is over as soon as it is there."""
    now = instant_text(time.time())
    return {
        "labels": {"alertname": value["query"]},
        "annotations": {"summary": str(value["row"]["test"])},
        "startsAt": now,
        "endsAt": now,
    }
