"""Queries that are only looked at: what is wrong with one, how it would be answered, what the past has for it."""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import CompileError, render_json
from cqc.compiler.graph.graph import Graph
from cqc.compiler.graph.lower import lower
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.pipeline import normalise
from cqc.runtime.serve.http.answers import JSON, write_answer
from cqc.runtime.serve.http.models import (
    Answer,
    ColumnInfo,
    DiagnosticInfo,
    Histogram,
    ResultInfo,
)
from cqc.runtime.serve.http.query_info import facts_of
from cqc.runtime.serve.http.view_models import Checked, Previewed
from cqc.runtime.serve.registry import Entry, columns_of, kind_of, place_of
from cqc.runtime.serve.views.preview import SHOWN
from cqc.runtime.sinks.lines import result_lines

if TYPE_CHECKING:
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.compiler.program import Program
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.preview import Preview

_SOME = 5  # names of queries that ask the same


def checked(service: Service, text: str, name: str | None) -> Checked:
    """In the engine's thread, because the graph is looked at."""
    taken = service.engine.taken_names
    try:
        query = service.program.bind_one(text, name, taken)
        replaces = False
    except CompileError as error:
        try:  # a name that is in use is no mistake of the text: it would replace that query
            query = service.program.bind_one(text, name, ())
            replaces = True
        except CompileError:
            return Checked(
                ok=False, diagnostics=diagnostics_of(error), name=name, replaces=False, kind=None,
                columns=[], plan=[], shared_with=0, same_question=[],
            )  # fmt: skip
    normal = normalise(query)
    node = Graph().add(normal).query  # a graph of its own, so that its plan can be put into words
    shared, same = _who_shares(service, normal)
    return Checked(
        ok=True,
        diagnostics=[],
        name=query.name,
        replaces=replaces,
        kind=kind_of(query),
        columns=[ColumnInfo(name=each, type=type_) for each, type_ in columns_of(query)],
        plan=facts_of(node),
        shared_with=shared,
        same_question=same,
    )


def streams_of(program: Program, text: str) -> tuple[str, ...]:
    """The declared streams and tables that a query reads (folded names).

    Raises:
        CompileError: when it has errors.
    """
    query = program.bind_one(text, "preview", ())
    return place_of(Graph().add(normalise(query)).query).streams


def _who_shares(service: Service, normal: NormalQuery) -> tuple[int, list[str]]:
    """How many queries the filter or join of a new query serves already, and some that ask the same conditions."""
    if not service.is_sharing or normal.patterns:
        return 0, []
    parts, registry = lower(normal), service.registry
    shared = 0
    same: list[str] = []
    for group in service.engine.circuit.groups:
        body, host = group.graph.find(parts)
        if body is not None:
            same = [query.name for query in islice(body.queries, _SOME)]
        if len(parts.relations) == 1:
            shared = registry.at(f"filter:{fold(parts.relations[0].name)}")
        elif host is not None:
            shared = registry.at(f"join:{host.number}")
    return shared, same


def diagnostics_of(error: CompileError) -> list[DiagnosticInfo]:
    """The mistakes in a query."""
    return [
        DiagnosticInfo(**json.loads(render_json(each)), detail=each.detail)
        for each in error.diagnostics
    ]


def previewed(found: Preview) -> Previewed:
    columns = [ColumnInfo(name=name, type=type_) for name, type_ in found.columns]
    answer = over_time = None
    if found.asked is not None:
        entry = Entry(0, "preview", "", "", 0.0, found.kind, found.columns)
        answer = Answer(**json.loads(write_answer(entry, found.asked, JSON)))
    if found.over_time is not None:
        counts = found.over_time
        over_time = Histogram(
            begin=counts.begin_us / 1e6, seconds=counts.span_us / 1e6, counts=counts.counts,
            is_number=counts.time_type is not ColumnType.TIMESTAMP,
        )  # fmt: skip
    lines = b"".join(map(bytes, result_lines(found.latest))).splitlines()
    latest = [ResultInfo(id="", **json.loads(line)) for line in reversed(lines)]
    return Previewed(
        kind=found.kind, columns=columns, rows=found.rows, seconds=round(found.seconds, 4),
        results=found.results, latest=latest[:SHOWN], over_time=over_time, answer=answer,
        cut=found.cut,
    )  # fmt: skip
