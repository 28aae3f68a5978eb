"""Queries as the service tells of them: from entries and figures to JSON."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.emit.explain_query import query_facts
from cqc.compiler.graph.lower import restore
from cqc.runtime.serve.http.models import ColumnInfo, Fact, Histogram, QueryDetail, QueryInfo
from cqc.runtime.sinks.json_text import json_times

if TYPE_CHECKING:
    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.serve.records.result_log import Counts
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.query_table import QueryRow

_BRIEF = 240  # characters of a text in a list
_SOME = 5  # names of queries that ask the same
NEVER_MATCHES = "its conditions contradict one another: it can never match"


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is answered, in words, and who asks the same."""

    facts: list[Fact]
    same: list[str]


def plan_of(service: Service, name: str) -> Plan:
    """In the engine's thread.

    Raises:
        Refusal: when there is no such query.
    """
    entry = service.registry.find(name)
    if entry.stopped:
        return Plan([Fact(what="stopped", text=entry.stopped)], [])
    node = service.engine.node(entry.name)
    return Plan(facts_of(node), same_question(node))


def facts_of(node: QueryNode) -> list[Fact]:
    """How a query is answered, in words."""
    facts = [Fact(what=what, text=text) for what, text in query_facts(restore(node))]
    if not any(body.can_match for body in node.bodies):
        facts.append(Fact(what="never", text=NEVER_MATCHES))
    return facts


def same_question(node: QueryNode) -> list[str]:
    """The names of some other queries with the same conditions."""
    found: list[str] = []
    for each in node.body.queries:
        if each is not node:
            found.append(each.name)
        if len(found) == _SOME:
            break
    return found


def info_of(row: QueryRow, *, brief: bool = False) -> QueryInfo:
    """A query in a list."""
    entry = row.entry
    text = entry.text
    if brief and len(text) > _BRIEF:
        text = text[:_BRIEF] + "…"
    alone = row.alone_seconds
    return QueryInfo(
        id=entry.number,
        name=entry.name,
        owner=entry.owner,
        kind=entry.kind,
        age_seconds=max(round(time.time() - entry.created, 3), 0.0),  # clocks are set back at times
        created=utc_text(entry.created),
        results=entry.results,
        invocations=entry.invocations,
        cost_seconds=round(row.cost_seconds, 6),
        kept_bytes=row.kept_bytes,
        results_per_second=round(row.results_per_second, 3),
        shared_with=row.shared_with,
        alone_seconds=None if alone is None else round(alone, 6),
        operator=entry.place.operator,
        columns=[ColumnInfo(name=name, type=type_) for name, type_ in entry.columns],
        text=text,
        stopped=entry.stopped or None,
        warnings=list(entry.warnings),
    )


def detail_of(row: QueryRow, plan: Plan, counts: Counts) -> QueryDetail:
    """One query with everything there is to know about it."""
    over_time = Histogram(
        begin=counts.begin, seconds=counts.seconds, counts=counts.counts, is_number=False
    )
    return QueryDetail(
        **info_of(row).model_dump(),
        plan=plan.facts,
        same_question=plan.same,
        results_over_time=over_time,
    )


def utc_text(seconds: float) -> str:
    """An instant as text, whole seconds."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event_time(us: int | None, time_type: ColumnType | None) -> str | int | float | None:
    """An event time as results show it: text, or a number where event time is one."""
    if us is None or time_type is None:
        return None
    text = json_times(np.array([us], np.int64), time_type)[0].as_py()
    found: str | int | float | None = json.loads(text)
    return found
