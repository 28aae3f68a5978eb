"""Which keys of alerts are pending or firing now, for people who look."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.runtime.alerts.alert_kernels import FIRING, LAST, SINCE, TOLD
from cqc.runtime.deliver.results import python_values, time_value

if TYPE_CHECKING:
    from datetime import datetime

    from cqc.runtime.alerts.alert_queries import AlertQueries


@record
class ActiveKey:
    """A key of an alert that is pending or firing.

    Attributes:
        alert: the name of the alert.
        severity: what SEVERITY says.
        state: `pending` or `firing`.
        key: the values of PER.
        since: when it began to be bad.
        last: its last observation.
        count: bad observations since it began.
        told: whether its firing was delivered; ONCE EVERY may hold it back.
        row: the SELECT list of the last observation.
    """

    alert: str
    severity: str | None
    state: str
    key: dict[str, Any]
    since: datetime | float | str | None
    last: datetime | float | str | None
    count: int
    told: bool
    row: dict[str, Any]


def active_keys(alerts: AlertQueries, name: str | None, most: int) -> list[ActiveKey]:
    """The keys of all alerts, or of one, oldest first; at most so many of each."""
    found: list[tuple[int, ActiveKey]] = []
    for group in alerts.active(name, most):
        keys = list(zip(*map(python_values, group.key_columns), strict=True))
        rows = list(zip(*map(python_values, group.columns), strict=True))
        names = [output.name for output in group.plan.node.outputs]
        for at, state in enumerate(group.states.tolist()):
            since, last = int(group.times_us[at, SINCE]), int(group.times_us[at, LAST])
            key = ActiveKey(
                group.plan.name,
                group.plan.alert.severity,
                "firing" if state == FIRING else "pending",
                dict(zip(group.key_names, keys[at], strict=True)) if group.key_names else {},
                time_value(since, group.time_type),
                time_value(last, group.time_type),
                int(group.counts[at]),
                bool(state == FIRING and group.marks[at] & TOLD),
                dict(zip(names, rows[at], strict=True)),
            )
            found.append((since, key))
    return [key for _, key in sorted(found, key=lambda each: each[0])]
