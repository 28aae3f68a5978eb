"""Results of alerts as Alertmanager and chats want them: labels, annotations, and when it began and ended."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.alerts import FIELDS
from cqc.runtime.receivers.templates import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENDED = ("resolved", "no_data")
_NOT_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]")
_NEVER = "0001-01-01T00:00:00Z"


def label_name(text: str) -> str:
    """A name with `_` in the place of characters that a label cannot have; the first is no digit."""
    name = _NOT_IN_LABELS.sub("_", text) or "_"
    return f"_{name[1:]}" if name[0].isdigit() else name


def labels_of(query: str, alert: Mapping[str, Any]) -> dict[str, str]:
    """The key, the severity where there is one, and the name of the alert."""
    labels = {label_name(name): shown(value) for name, value in alert["key"].items()}
    if alert["severity"] is not None:
        labels["severity"] = str(alert["severity"])
    labels["alertname"] = query
    return labels


def annotations_of(alert: Mapping[str, Any]) -> dict[str, str]:
    """The texts of WITH."""
    texts = {name: text for name, text in alert.items() if name not in FIELDS}
    return {label_name(name): str(text) for name, text in texts.items()}


def instant_text(time: Any) -> str:
    """A result time as RFC 3339: a text as it is, a number as seconds since 1970."""
    if isinstance(time, str):
        return time
    moment = datetime.fromtimestamp(float(time or 0), UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def posted_alert(query: str, value: Mapping[str, Any], until_s: float) -> dict[str, Any]:
    """A result as `POST /api/v2/alerts` takes it; what lasts ends at `until_s` unless it is sent again."""
    alert = value["alert"]
    has_ended = alert["state"] in ENDED
    return {
        "labels": labels_of(query, alert),
        "annotations": annotations_of(alert),
        "startsAt": instant_text(alert["since"]),
        "endsAt": instant_text(value["ts"] if has_ended else until_s),
    }


def webhook_payload(values: Sequence[Mapping[str, Any]], receiver: str) -> str:
    """Results as the body that Alertmanager itself sends to webhooks (version 4)."""
    alerts = [_hook_alert(value) for value in values]
    firing = any(each["status"] == "firing" for each in alerts)
    common = _common([each["labels"] for each in alerts])
    key = "{}/{}:{" + ", ".join(f'{name}="{text}"' for name, text in common.items()) + "}"
    body = {
        "version": "4",
        "groupKey": key,
        "truncatedAlerts": 0,
        "status": "firing" if firing else "resolved",
        "receiver": receiver,
        "groupLabels": {name: text for name, text in common.items() if name == "alertname"},
        "commonLabels": common,
        "commonAnnotations": _common([each["annotations"] for each in alerts]),
        "externalURL": "",
        "alerts": alerts,
    }
    return json.dumps(body, ensure_ascii=False)


def _hook_alert(value: Mapping[str, Any]) -> dict[str, Any]:
    alert, ts = value.get("alert"), value.get("ts", value.get("at"))
    if alert is None:  # of a query that is no alert: an event without an end
        alert = {"key": {}, "severity": None, "state": "firing", "since": ts}
        texts = {label_name(name): shown(cell) for name, cell in value["row"].items()}
    else:
        texts = annotations_of(alert)
    labels = labels_of(value["query"], alert)
    has_ended = alert["state"] in ENDED
    text = json.dumps(labels, sort_keys=True).encode()
    return {
        "status": "resolved" if has_ended else "firing",
        "labels": labels,
        "annotations": texts,
        "startsAt": instant_text(alert["since"]),
        "endsAt": instant_text(ts) if has_ended else _NEVER,
        "generatorURL": "",
        "fingerprint": hashlib.sha256(text).hexdigest()[:16],
    }


def _common(maps: Sequence[Mapping[str, str]]) -> dict[str, str]:
    first = maps[0] if maps else {}
    return {
        name: text
        for name, text in first.items()
        if all(each.get(name) == text for each in maps[1:])
    }


def slack_line(value: Mapping[str, Any]) -> str:
    """A result as a line of a chat: what happened to which key, and the summary or the row."""
    alert = value.get("alert")
    row = ", ".join(f"{name} = {shown(cell)}" for name, cell in value["row"].items())
    if alert is None:
        return f"*{value['query']}* {value.get('ts', value.get('at'))}: {row}"
    key = ", ".join(f"{name} = {shown(cell)}" for name, cell in alert["key"].items())
    severity = "" if alert["severity"] is None else f" ({alert['severity']})"
    whose = f" [{key}]" if key else ""
    said = alert.get("summary", row)
    state = alert["state"].replace("_", " ").upper()
    return f"*{state}* {value['query']}{severity}{whose} {value['ts']}: {said}"
