"""Alerts as clients of a service see them, and as metrics."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from cqc.runtime.serve.http.exposition import labels, metric
from cqc.runtime.serve.http.models import AlertInfo, AlertKey, AlertList
from cqc.runtime.serve.http.view_models import SeverityInfo

if TYPE_CHECKING:
    from cqc.runtime.serve.service import Service


def alert_list(service: Service, name: str | None, most: int) -> AlertList:
    """The alerts that run, and their keys that are pending or firing."""
    engine = service.engine
    found = []
    for each, (pending, firing) in engine.alert_counts().items():
        alert = engine.node(each).alert
        assert alert is not None
        results = engine.result_counts().get(each, 0)
        found.append(
            AlertInfo(
                name=each,
                severity=alert.severity,
                pending=pending,
                firing=firing,
                results=results,
            )
        )
    keys = [
        AlertKey(
            alert=key.alert,
            severity=key.severity,
            state=key.state,
            key=_plain(key.key),
            since=_value(key.since),
            last=_value(key.last),
            count=key.count,
            told=key.told,
            row=_plain(key.row),
        )
        for key in engine.alerts(name, max(most, 0))
    ]
    return AlertList(alerts=found, keys=keys)


def severity_list(service: Service) -> list[SeverityInfo]:
    """How many keys are pending and firing, by severity."""
    engine = service.engine
    found: dict[str | None, SeverityInfo] = {}
    for name, (pending, firing) in engine.alert_counts().items():
        alert = engine.node(name).alert
        severity = None if alert is None else alert.severity
        own = found.setdefault(
            severity, SeverityInfo(severity=severity, alerts=0, pending=0, firing=0)
        )
        own.alerts += 1
        own.pending += pending
        own.firing += firing
    return sorted(
        found.values(), key=lambda each: (-each.firing, -each.pending, each.severity or "")
    )


def alert_lines(service: Service) -> list[str]:
    """How many keys are in which state, by severity."""
    engine = service.engine
    counts: Counter[tuple[str, str]] = Counter()
    for name, (pending, firing) in engine.alert_counts().items():
        alert = engine.node(name).alert
        severity = "" if alert is None or alert.severity is None else alert.severity
        counts[("pending", severity)] += pending
        counts[("firing", severity)] += firing
    if not counts:
        return []
    shown = {
        labels({"state": state, "severity": severity}): count
        for (state, severity), count in sorted(counts.items())
    }
    return metric("cqc_alert_keys", "gauge", "Keys of alerts, by state and severity.", shown)


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return value
