"""What a checkpoint holds of alerts: entries, their last observations, and observations that wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import type_of_text
from cqc.runtime.alerts.observed_stream import Waiting
from cqc.runtime.columns.columns import null_column
from cqc.runtime.columns.saved_columns import loaded, loaded_array, saved
from cqc.runtime.windows.waiting_rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.alerts.alert_group import AlertGroup
    from cqc.runtime.alerts.alert_plan import AlertPlan
    from cqc.runtime.alerts.observed_stream import ObservedStream


def save_stream(stream: ObservedStream) -> dict[str, Any]:
    """The alerts over one stream, as JSON."""
    state: dict[str, Any] = {
        "alerts": [[number, plan.name, plan.since] for number, plan in stream.plans.items()],
        "columns": [[number, type_.value] for number, type_ in stream.columns.items()],
        "seen": stream.seen_us,
        "groups": [_save_group(group) for group in stream.groups.values() if group.entries.count],
    }
    if stream.waiting:
        waiting = Waiting.joined(stream.waiting)
        state["waiting"] = waiting.rows.saved()
        state["arrivals"] = saved({"arrival": waiting.arrivals})
        state["bad"] = saved({"row": waiting.bad_rows, "alert": waiting.bad_alerts})
    return state


def _save_group(group: AlertGroup) -> dict[str, str]:
    entries = group.entries
    count = entries.count
    return {
        "rows": group.kept.all().saved(),
        "entries": saved(
            {
                "alert": entries.alert_of[:count],
                "times": entries.times[:count],
                "counts": entries.counts[:count],
                "states": entries.states[:count],
                "marks": entries.marks[:count],
                "lasts": entries.lasts[:count],
            }
        ),
    }


def load_stream(
    stream: ObservedStream, state: Mapping[str, Any], plans: Mapping[int, AlertPlan]
) -> None:
    """Give alerts what they knew elsewhere; `plans` are those that are here, by the numbers they had there."""
    columns = {int(number): type_of_text(type_) for number, type_ in state["columns"]}
    stream.seen_us = max(stream.seen_us, state["seen"])
    numbers = np.full(max((each[0] for each in state["alerts"]), default=0) + 1, -1, np.int64)
    for number, _, since in state["alerts"]:
        if number in plans:
            numbers[number] = plans[number].number
            stream.stand_since(plans[number], since)
    if "waiting" in state:
        rows = _as_kept(stream, columns, Rows.loaded(state["waiting"], tuple(columns.values())))
        bad = loaded(state["bad"])
        alerts = numbers[loaded_array(bad, "alert")]
        here = alerts >= 0
        arrivals = loaded_array(loaded(state["arrivals"]), "arrival")
        stream.load_waiting(Waiting(rows, arrivals, loaded_array(bad, "row")[here], alerts[here]))
    for each in state["groups"]:
        _load_group(stream, each, columns, numbers)


def _load_group(
    stream: ObservedStream,
    state: Mapping[str, str],
    columns: Mapping[int, ColumnType],
    numbers: NDArray[np.int64],
) -> None:
    table = loaded(state["entries"])
    alerts = numbers[loaded_array(table, "alert")]
    rows = _as_kept(stream, columns, Rows.loaded(state["rows"], tuple(columns.values())))
    by_keys = {plan.number: plan.keys for plan in stream.plans.values()}
    for keys, group in stream.groups.items():
        mine = [number for number, own in by_keys.items() if own == keys]
        chosen = np.flatnonzero(np.isin(alerts, mine))
        if not len(chosen):
            continue
        entries = group.entries
        entries.reserve(len(chosen), 1)
        begin, end = entries.count, entries.count + len(chosen)
        entries.alert_of[begin:end] = alerts[chosen]
        for name in ("times", "counts", "states", "marks"):
            getattr(entries, name)[begin:end] = loaded_array(table, name)[chosen]
        entries.lasts[begin:end] = loaded_array(table, "lasts")[chosen] + len(group.kept)
        entries.count = end
        group.kept.append(rows)
        group.keep_only(np.arange(end))
        group.look_again()


def _as_kept(stream: ObservedStream, columns: Mapping[int, ColumnType], rows: Rows) -> Rows:
    """Rows with the columns that are kept here."""
    own = dict(zip(columns, rows.columns, strict=True))
    wide = [
        own[number] if number in own else null_column(type_, len(rows))
        for number, type_ in stream.columns.items()
    ]
    return Rows(rows.ts_us, rows.end_us, tuple(wide))
