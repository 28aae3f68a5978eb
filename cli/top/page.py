"""One screen of `cqc top`: figures to lines. Nothing here knows of a terminal but its width and height."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from cqc.cli.report import counted
from cqc.cli.tables import aligned
from cqc.compiler.diagnostics.diagnostic import printable
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.cli.top.figures import (
        AlertFigures,
        Figures,
        QueryFigures,
        SinkFigures,
        StreamFigures,
    )

# By what queries are sorted: the key that asks for it, and the figure, the largest first but for names.
SORTS: dict[str, tuple[str, Callable[[QueryFigures], float]]] = {
    "b": ("busy", lambda query: query.busy),
    "c": ("cost", lambda query: query.cost_seconds),
    "r": ("results/s", lambda query: query.results_a_second),
    "t": ("results", lambda query: query.results),
    "k": ("kept", lambda query: query.kept_bytes),
    "n": ("query", lambda query: 0.0),
}
KEYS = "sort: (b)usy (c)ost (r)ate (t)otal (k)ept (n)ame   /: filter   p: pause   arrows: scroll   q: leave"
_MOST_STREAMS = 8
_MOST_OTHERS = 5  # alerts, and sinks


@dataclass(frozen=True, slots=True)
class View:
    """What the user chose to see."""

    sort: str = "c"
    filter: str = ""
    first: int = 0
    paused: bool = False

    @property
    def server_sort(self) -> str:
        """What a service calls the order."""
        return {"b": "cost", "c": "cost", "r": "rate", "t": "results", "k": "kept"}.get(
            self.sort, "name"
        )

    def sorted_by(self, key: str) -> View:
        """With queries in another order, from the top."""
        return replace(self, sort=key, first=0)


def page(figures: Figures, view: View, width: int, height: int, address: str = "") -> list[str]:
    """The lines of a screen, each no wider than it is."""
    lines = [*_head(figures, view, address), ""]
    streams = sorted(figures.streams, key=lambda each: -each.rows_a_second)
    lines += _table(_STREAMS, streams[:_MOST_STREAMS])
    if len(streams) > _MOST_STREAMS:
        lines.append(f"... and {len(streams) - _MOST_STREAMS:,} more streams")
    lines.append("")
    firing = [each for each in figures.alerts if each.firing or each.pending]
    firing.sort(key=lambda each: (-each.firing, -each.pending, fold(each.name)))
    lines += _some(_ALERTS, firing, "alerts")
    sinks = sorted(figures.sinks, key=lambda each: (each.state == "ok", -each.waiting, each.name))
    lines += _some(_SINKS, sinks, "sinks")
    queries = chosen(figures, view)
    room = max(height - len(lines) - 4, 1)
    first = min(view.first, max(len(queries) - room, 0))
    shown = queries[first : first + room]

    lines += _table(_QUERIES, shown)
    last = first + len(shown)
    lines.append(
        f"{first + 1 if shown else 0:,}-{last:,} of {len(queries):,} queries by {SORTS[view.sort][0]}"
    )
    return [_cut(line, width) for line in lines]


def _some(
    columns: dict[str, tuple[bool, Callable[..., str]]], rows: list[Any], what: str
) -> list[str]:
    """A table of the first rows and a blank line; nothing where there are none."""
    if not rows:
        return []
    left = len(rows) - _MOST_OTHERS
    more = [f"... and {left:,} more {what}"] if left > 0 else []
    return [*_table(columns, rows[:_MOST_OTHERS]), *more, ""]


def chosen(figures: Figures, view: View) -> list[QueryFigures]:
    """The queries that the filter lets through, in the order asked for."""
    wanted = fold(view.filter)
    found = [
        each
        for each in figures.queries
        if wanted in fold(each.name) or wanted in fold(each.text) or wanted in fold(each.owner)
    ]
    figure = SORTS[view.sort][1]
    return sorted(found, key=lambda each: (-figure(each), fold(each.name)))


def _head(figures: Figures, view: View, address: str) -> list[str]:
    paused = "  PAUSED" if view.paused else ""
    chosen_ = f"  filter: {printable(view.filter)}" if view.filter else ""
    first = (
        f"cqc top  {address}  {figures.status}, up {span(figures.uptime_seconds)}{paused}{chosen_}"
    )
    second = (
        f"{figures.tuples:,} rows, {rate(figures.rows_a_second)}/s   "
        f"{figures.results:,} results, {rate(figures.results_a_second)}/s   "
        f"{max(figures.all_queries, len(figures.queries)):,} queries   {size(figures.kept_bytes)} kept   "
        f"{figures.watchers:,} watching   {figures.waiting:,} waiting"
    )
    alerts = [_told_alerts(figures)] if figures.alerts else []
    return [first, second, *alerts, *(f"! {printable(each)}" for each in figures.problems[:2])]


def _told_alerts(figures: Figures) -> str:
    """How many keys fire, by severity."""
    firing: Counter[str] = Counter()
    for each in figures.alerts:
        firing[each.severity or "without severity"] += each.firing
    kinds = [f"{count:,} {severity}" for severity, count in firing.most_common() if count]
    listing = f" ({', '.join(kinds)})" if kinds else ""
    pending = sum(each.pending for each in figures.alerts)
    return f"{counted(len(figures.alerts), 'alert')}: {firing.total():,} firing{listing}, {pending:,} pending"


_STREAMS: dict[str, tuple[bool, Callable[[StreamFigures], str]]] = {
    "stream": (False, lambda each: each.name),
    "rows": (True, lambda each: f"{each.rows:,}"),
    "rows/s": (True, lambda each: rate(each.rows_a_second)),
    "late": (True, lambda each: f"{each.late:,}"),
    "rejected": (True, lambda each: f"{each.rejected:,}"),
    "far ahead": (True, lambda each: f"{each.waiting:,}"),
    "kept rows": (True, lambda each: f"{each.kept_rows:,}"),
    "kept": (True, lambda each: size(each.kept_bytes)),
    "lag": (True, lambda each: "" if each.lag_seconds is None else span(each.lag_seconds)),
}
_ALERTS: dict[str, tuple[bool, Callable[[AlertFigures], str]]] = {
    "alert": (False, lambda each: each.name),
    "severity": (False, lambda each: each.severity),
    "firing": (True, lambda each: f"{each.firing:,}"),
    "pending": (True, lambda each: f"{each.pending:,}"),
    "results": (True, lambda each: f"{each.results:,}"),
}
_SINKS: dict[str, tuple[bool, Callable[[SinkFigures], str]]] = {
    "sink": (False, lambda each: each.name),
    "type": (False, lambda each: each.type),
    "state": (False, lambda each: each.state),
    "sent": (True, lambda each: f"{each.sent:,}"),
    "waiting": (True, lambda each: f"{each.waiting:,}"),
    "bytes": (True, lambda each: size(each.waiting_bytes)),
    "refused": (True, lambda each: f"{each.dead:,}"),
    "last error": (False, lambda each: " ".join(each.last_error.split())),
}
_QUERIES: dict[str, tuple[bool, Callable[[QueryFigures], str]]] = {
    "query": (False, lambda each: each.name),
    "kind": (False, lambda each: each.kind),
    "owner": (False, lambda each: each.owner),
    "results": (True, lambda each: f"{each.results:,}"),
    "results/s": (True, lambda each: rate(each.results_a_second)),
    "cost": (True, lambda each: f"{each.cost_seconds * 1000:,.1f} ms"),
    "busy": (True, lambda each: f"{each.busy * 100:.1f} %"),
    "kept": (True, lambda each: size(each.kept_bytes)),
    "shared with": (True, lambda each: "" if each.shared_with is None else f"{each.shared_with:,}"),
    "alone": (
        True,
        lambda each: "" if each.alone_seconds is None else f"{each.alone_seconds * 1000:,.0f} ms",
    ),
    "text": (False, lambda each: each.stopped or " ".join(each.text.split())),
}


def _table(columns: dict[str, tuple[bool, Callable[..., str]]], rows: list[Any]) -> list[str]:
    cells = [[show(row) for _, show in columns.values()] for row in rows]
    # A column that nobody has anything in is left out: not every service tells everything.
    kept = [
        at
        for at, title in enumerate(columns)
        if not rows or title in _ALWAYS or any(row[at] for row in cells)
    ]
    titles, right = list(columns), [to_right for to_right, _ in columns.values()]
    return aligned(
        [titles[at] for at in kept],
        [[row[at] for at in kept] for row in cells],
        [right[at] for at in kept],
    )


_ALWAYS = ("stream", "query", "text", "alert", "sink")


def rate(value: float) -> str:
    """A number a second: whole ones when there are many."""
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def size(count: int) -> str:
    """Bytes in a unit one can read."""
    value = float(count)
    for unit in ("B", "KB", "MB"):
        if value < 1024:
            return f"{value:,.0f} {unit}" if unit == "B" else f"{value:,.1f} {unit}"
        value /= 1024
    return f"{value:,.1f} GB"


def span(seconds: float) -> str:
    """A time in a unit one can read."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:,.1f} {unit}"
    return f"{seconds:.0f} s"


def _cut(line: str, width: int) -> str:
    from cqc.runtime.sinks.table import display_width

    if display_width(line) <= width:
        return line
    kept = line[:width]
    while display_width(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"
