"""All alerts of an engine: observations in, results out, and what another engine needs to go on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.alerts.alert_kernels import FIRING, INACTIVE, PENDING
from cqc.runtime.alerts.alert_plan import AlertPlan
from cqc.runtime.alerts.observed_stream import ObservedStream
from cqc.runtime.alerts.saved_alerts import load_stream, save_stream
from cqc.runtime.deliver.alert_columns import AlertColumns
from cqc.runtime.deliver.outputs import OutputPlans
from cqc.runtime.deliver.results import ResultBlock

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.graph.nodes import QueryNode
    from cqc.runtime.alerts.alert_group import AlertGroup, Told
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.deliver.outputs import OutputPlan
    from cqc.runtime.lineage.matches import Found, Seat

_MOST_SHORT = 2**16  # numbers of alerts that fit into two bytes


class AlertQueries:
    """The queries of CREATE ALERT."""

    def __init__(self) -> None:
        self._streams: dict[str, ObservedStream] = {}  # by folded name
        self._plans: dict[str, AlertPlan] = {}  # by query name
        self._outputs = OutputPlans()
        self._failures_of_gone = 0

    def __len__(self) -> int:
        return len(self._plans)

    # Alerts come and go

    def add(self, node: QueryNode, seat: Seat, since: Mapping[str, int]) -> None:
        """Watch from now on; `since` says how many tuples of each stream have come."""
        assert node.alert is not None
        name = stream_of(node)
        stream = self._streams.get(name)
        if stream is None:
            stream = self._streams[name] = ObservedStream(of_view=node.alert.of_view)
        came = 0 if node.alert.of_view else since.get(name, 0)
        outputs = self._outputs.use(node.outputs)
        plan = AlertPlan(node, node.alert, seat, stream.free_number(), came, outputs)
        self._plans[node.name] = plan
        stream.add(plan)

    def remove(self, node: QueryNode, watermarks: Mapping[str, int]) -> list[ResultBlock]:
        """Forget an alert. Returns what it tells for the last time."""
        plan, name = self._plans[node.name], stream_of(node)
        stream = self._streams[name]
        group = stream.groups[plan.keys]
        told = stream.remove(plan, watermarks[name])
        blocks = [] if told is None else list(self._blocks({plan.number: plan}, group, told))
        del self._plans[node.name]
        stream.drop_group(plan)
        self._outputs.release(node.outputs)
        if not stream.plans:
            self._failures_of_gone += stream.failures
            del self._streams[name]
        return blocks

    # Observations in, results out

    def watches(self, stream: str) -> bool:
        """Whether some alert looks at a stream (folded name)."""
        return stream in self._streams

    def observe(self, name: str, packet: Packet, found: Sequence[Found]) -> None:
        """Take a packet of a stream, and what operators found in it."""
        self._streams[name].observe(packet, found)

    def due(self, watermarks: Mapping[str, int]) -> list[ResultBlock]:
        """What is told now."""
        blocks: list[ResultBlock] = []
        for name, stream in self._streams.items():
            for group, told in stream.decide(watermarks[name]):
                blocks += self._blocks(stream.plans, group, told)
        return blocks

    def _blocks(
        self, plans: Mapping[int, AlertPlan], group: AlertGroup, told: Told
    ) -> Iterator[ResultBlock]:
        """A block for each alert; alerts of one SELECT list have their columns in common."""
        key_columns = tuple(group.key_columns(told.rows))
        shown: dict[OutputPlan, Any] = {}
        # Few alerts have numbers that need more, and short numbers are sorted without a comparison.
        short = np.uint16 if max(plans) < _MOST_SHORT else np.int64
        order = np.argsort(told.alerts.astype(short), kind="stable")
        counts = np.bincount(told.alerts)
        numbers = np.flatnonzero(counts)
        times_us = told.times_us[order]
        sorted_alerts = told.alerts[order]
        goes_back = (times_us[1:] < times_us[:-1]) & (sorted_alerts[1:] == sorted_alerts[:-1])
        in_order = not goes_back.any()
        beside: dict[Any, AlertColumns] = {}  # alerts of one severity without texts tell the same
        begin, outputs, style = 0, None, None
        columns: Any = ()
        alert: AlertColumns | None = None
        for number, count in zip(numbers.tolist(), counts[numbers].tolist(), strict=True):
            plan = plans[number]
            if plan.outputs is not outputs:  # many alerts in a row have the same
                outputs = plan.outputs
                columns = shown.get(outputs)
                if columns is None:
                    columns = outputs.columns(group.fetch(told.rows), len(told.rows))
                    shown[outputs] = columns
            if plan.style != style:
                style = plan.style
                alert = beside.get(style)
                if alert is None:
                    alert = beside[style] = AlertColumns(
                        *style, key_columns, told.states, told.since_us, told.counts
                    )
            end = begin + count
            plan.results += count
            yield ResultBlock(
                plan.name,
                outputs.names,
                columns,
                order[begin:end],
                times_us[begin:end],
                plan.time_type,
                False,
                alert,
                in_order,
            )
            begin = end

    # Going on elsewhere

    def save(self) -> list[dict[str, Any]]:
        """What must be remembered beside the base tuples."""
        return [save_stream(stream) for stream in self._streams.values()]

    def load(self, states: list[dict[str, Any]]) -> None:
        """Go on where another engine was."""
        for saved in states:
            by_stream: dict[str, dict[int, AlertPlan]] = {}
            for number, name, _ in saved["alerts"]:
                if name in self._plans:
                    plan = self._plans[name]
                    by_stream.setdefault(stream_of(plan.node), {})[number] = plan
            for stream, plans in by_stream.items():
                load_stream(self._streams[stream], saved, plans)

    # What can be seen of them

    def counts(self) -> dict[str, tuple[int, int]]:
        """For each alert how many keys are pending and firing."""
        found: dict[str, tuple[int, int]] = {}
        for stream in self._streams.values():
            pending = np.zeros(len(stream.terms), np.int64)
            firing = np.zeros(len(stream.terms), np.int64)
            for group in stream.groups.values():
                entries = group.entries
                alerts, states = entries.alert_of[: entries.count], entries.states[: entries.count]
                pending += np.bincount(alerts[states == PENDING], minlength=len(pending))
                firing += np.bincount(alerts[states == FIRING], minlength=len(firing))
            for number, plan in stream.plans.items():
                found[plan.name] = int(pending[number]), int(firing[number])
        return found

    def active(self, name: str | None = None, most: int | None = None) -> Iterator[ActiveKeys]:
        """The keys that are pending or firing: of all alerts, or of one."""
        for stream in self._streams.values():
            for group in stream.groups.values():
                entries = group.entries
                states = entries.states[: entries.count]
                alerts = entries.alert_of[: entries.count]
                for number, plan in stream.plans.items():
                    if plan.keys != group.keys or name not in (None, plan.name):
                        continue
                    own = np.flatnonzero((alerts == number) & (states != INACTIVE))[:most]
                    if len(own):
                        yield ActiveKeys(plan, group, own)

    def results_of(self, name: str) -> int:
        """How many results an alert has had so far."""
        return self._plans[name].results

    def set_results(self, name: str, results: int) -> None:
        """Count from so many results on."""
        self._plans[name].results = results

    def kept_bytes(self, name: str) -> int:
        """Memory that is held for an alert; those over one stream have a part of it each."""
        plan = self._plans.get(name)
        if plan is None:
            return 0
        stream = self._streams[stream_of(plan.node)]
        return stream.nbytes // len(stream.plans)

    @property
    def failures(self) -> int:
        """Evaluations that failed and gave NULL, those of alerts that have left included."""
        now = sum(stream.failures for stream in self._streams.values())
        return self._failures_of_gone + self._outputs.failures + now


def stream_of(node: QueryNode) -> str:
    """The folded name of the stream or view whose tuples an alert observes."""
    return fold(node.items[0].relation.name)


class ActiveKeys:
    """Keys of one alert that are pending or firing, by column."""

    def __init__(self, plan: AlertPlan, group: AlertGroup, chosen: Any) -> None:
        entries = group.entries
        rows = group.kept.take(entries.lasts[chosen])
        self.plan = plan
        self.key_names = plan.key_names
        self.key_columns = tuple(group.key_columns(rows))
        self.states = entries.states[chosen]
        self.times_us = entries.times[chosen]
        self.counts = entries.counts[chosen]
        self.marks = entries.marks[chosen]
        self.columns = plan.outputs.columns(group.fetch(rows), len(rows))
        self.time_type = plan.node.items[0].relation.time_type
