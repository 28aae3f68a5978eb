"""Routes for those who look: lists of queries, the service at a glance, its graph, queries that are only tried.

Nothing here changes anything. What has to be read of the engine is read in its thread, which is quick; everything else (sorting,
searching, trying a query over the past) happens in other threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Annotated

from fastapi import Query, Request, Response

from cqc.compiler.functions.document import signature
from cqc.compiler.functions.registered import user_functions
from cqc.compiler.functions.registry import AGGREGATE_FUNCTIONS, SCALAR_FUNCTIONS
from cqc.compiler.syntax.tokens import CONTEXTUAL, RESERVED
from cqc.runtime.serve.http.access import CALLER
from cqc.runtime.serve.http.alert_info import severity_list
from cqc.runtime.serve.http.models import ColumnInfo, QueryDetail, QueryList, SinkInfo
from cqc.runtime.serve.http.query_info import (
    detail_of,
    event_time,
    info_of,
    plan_of,
    utc_text,
)
from cqc.runtime.serve.http.tokens import ANYBODY
from cqc.runtime.serve.http.tried import checked, previewed, streams_of
from cqc.runtime.serve.http.view_models import (
    Checked,
    FunctionInfo,
    GraphEdge,
    GraphNode,
    GraphPath,
    HistoryInfo,
    LiveGraphInfo,
    Overview,
    PartInfo,
    Previewed,
    QueryCounts,
    RelationInfo,
    Schema,
    Sharing,
    StreamInfo,
    TryQuery,
)
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.serve.views.live_graph import LiveGraph, path_of
from cqc.runtime.serve.views.overview import SAMPLE_S, Pulse, Sizes
from cqc.runtime.serve.views.past import take_past
from cqc.runtime.serve.views.preview import MOST_ROWS, preview
from cqc.runtime.serve.views.prices import Prices
from cqc.runtime.serve.views.query_table import KINDS, SORTS, Measured, QueryTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.serve.http.models import Health
    from cqc.runtime.serve.registry import Entry
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.views.live_graph import Folded
    from cqc.runtime.serve.views.query_table import QueryRow
    from cqc.runtime.serve.worker import Worker

_MOST_LISTED = 1_000  # queries of one page
_PREVIEWS = 2  # at once
_CHART_S, _CHART_SPANS = 5.0, 120
_LOOKED_S = 30.0  # for so long after the last look prices are measured


class ViewsApi:
    """Answers for those who look.

    Args:
        worker: asks the engine's thread.
        check_text: refuses texts that are too long.
        health: how the service is.
    """

    def __init__(
        self,
        worker: Worker,
        check_text: Callable[[str, str, int], None],
        health: Callable[[bool], Health],
    ) -> None:
        self._worker = worker
        self._limits = worker.service.limits
        self._check_text = check_text
        self._health = health
        self._prices = Prices()
        self._table = QueryTable(worker.service, self._prices)
        self._graph = LiveGraph()
        self.pulse = Pulse(worker.service)
        self._copying = asyncio.Lock()
        self._measured: Measured | None = None
        self._previews = asyncio.Semaphore(_PREVIEWS)
        self._looked_at = -_LOOKED_S

    async def run(self) -> None:
        """Sample the counters for ever, and measure prices while somebody looks."""
        pricing: asyncio.Future[None] | None = None
        try:
            while True:
                self.pulse.beat()
                looks = time.monotonic() - self._looked_at < _LOOKED_S
                if looks and (pricing is None or pricing.done()):
                    pricing = asyncio.ensure_future(self._measure_price())
                await asyncio.sleep(SAMPLE_S)
        finally:
            if pricing is not None:
                pricing.cancel()

    async def _measure_price(self) -> None:
        """Measure what a query of one operator costs alone; a service that stops or is too busy has other worries."""
        with contextlib.suppress(Refusal, asyncio.CancelledError):
            trial = await self._worker.ask(self._prices.next_trial)
            if trial is not None:
                await asyncio.to_thread(self._prices.measure, trial)

    # Queries

    async def queries(
        self,
        search: Annotated[str, Query(description="Words that name, owner or text hold.")] = "",
        kind: Annotated[
            str, Query(description="push, pull, every or stopped; several with commas.")
        ] = "",
        operator: Annotated[
            str, Query(description="Only those that a node of /graph serves.")
        ] = "",
        sort: Annotated[
            str, Query(description=f"By what: {', '.join(SORTS)}; else as they came.")
        ] = "",
        descending: Annotated[bool, Query(description="The largest first.")] = False,
        offset: Annotated[int, Query(ge=0, le=1 << 40)] = 0,
        limit: Annotated[
            int | None, Query(ge=0, le=_MOST_LISTED, description="All, if left out.")
        ] = None,
        brief: Annotated[bool, Query(description="Cut long texts off.")] = False,
    ) -> Response:
        """Registered queries with their owner, age, results and cost: all of them, or a page of those that match."""
        if sort and sort not in SORTS:
            raise Refusal(Status.INVALID, f"queries are sorted by {', '.join(SORTS)}")
        kinds = [each for each in kind.split(",") if each]
        if not set(kinds) <= set(KINDS):
            raise Refusal(Status.INVALID, f"kinds of queries are {', '.join(KINDS)}")
        await self.fresh()

        def text() -> str:
            # There may be a hundred thousand: neither the engine nor other requests wait for their text.
            page = self._table.page(
                search=search, kinds=kinds, operator=operator, sort=sort,
                descending=descending, offset=offset, limit=limit,
            )  # fmt: skip
            return QueryList(
                queries=[info_of(row, brief=brief) for row in page.rows],
                matching=page.matching,
                total=page.total,
            ).model_dump_json()

        return Response(await asyncio.to_thread(text), media_type="application/json")

    async def query(self, name: str) -> QueryDetail:
        """One registered query: its figures, its plan in words, and when its results came."""
        self._looked_at = time.monotonic()
        service = self._worker.service
        if name not in service.registry:
            service.registry.find(name)
        plan, measured = await self._worker.ask(
            lambda service: (plan_of(service, name), Measured.of(service))
        )
        row = self._table.row(name, measured)
        counts = await asyncio.to_thread(
            service.results.counts, row.entry.number, _CHART_S, _CHART_SPANS
        )
        return detail_of(row, plan, counts)

    def row_of(self, entry: Entry) -> QueryRow:
        """The figures of a query that was just registered."""
        return self._table.row(entry.name, self._measured or Measured({}, {}, {}))

    async def fresh(self) -> QueryTable:
        """The table of all queries, not older than a moment."""
        self._looked_at = time.monotonic()
        async with self._copying:
            if self._table.is_stale:
                self._measured = await self._worker.ask(Measured.of)
                await asyncio.to_thread(self._table.copy, self._measured)
        return self._table

    # The service

    async def overview(
        self,
        request: Request,
        history: Annotated[bool, Query(description="With the last ten minutes.")] = False,
    ) -> Overview:
        """The service at a glance."""
        table = await self.fresh()
        sizes = await self._worker.ask(Sizes.of)
        service, caller = self._worker.service, request.scope[CALLER]
        rows, results_per_second, load = self.pulse.rates()
        streams = self.pulse.streams(sizes)
        counts = _counts(service)
        past = self.pulse.history() if history else None
        return Overview(
            version=version("cqc"),
            now=utc_text(time.time()),
            uptime_seconds=round(time.time() - service.started, 1),
            role=caller.role.name.lower(),
            user=caller.name,
            has_tokens=caller is not ANYBODY,
            health=self._health(True),
            tuples=sum(each.read for each in streams),
            results=service.results.next_number - 1,
            late=sum(each.late for each in streams),
            rejected=sum(each.rejected for each in streams),
            tuples_per_second=round(sum(rows.values()), 2),
            results_per_second=round(results_per_second, 2),
            load=round(load, 4),
            queries=counts,
            memory_bytes=self.pulse.samples[-1].memory,
            state_bytes=sum(each.bytes for each in streams),
            operator_bytes=sizes.operators,
            kept_result_bytes=service.results.size,
            sharing=Sharing(
                cost_seconds=round(table.cost_seconds, 6),
                priced_cost_seconds=round(table.priced_cost_seconds, 6),
                alone_seconds=round(table.alone_seconds, 6),
            ),
            streams=[
                StreamInfo(
                    name=each.name,
                    kind="stream" if each.is_stream else "table",
                    read=each.read,
                    per_second=round(each.per_second, 2),
                    late=each.late,
                    rejected=each.rejected,
                    reasons=each.reasons,
                    waiting=each.waiting,
                    queries=each.queries,
                    rows=each.rows,
                    bytes=each.bytes,
                    watermark=event_time(each.watermark_us, each.time_type),
                    latest=event_time(each.latest_us, each.time_type),
                    lag_seconds=None if each.lag_seconds is None else round(each.lag_seconds, 3),
                    idle=each.is_idle,
                )
                for each in streams
            ],
            alerts=await self._worker.ask(severity_list),
            sinks=[SinkInfo(**asdict(each)) for each in service.sinks.measure()],
            history=None if past is None else HistoryInfo(**past),
        )

    async def graph(
        self,
        query: Annotated[str | None, Query(description="Also the path of this query.")] = None,
    ) -> LiveGraphInfo:
        """The shared graph with live counts; thousands of queries are one node for each operator they end at."""
        if query is not None:
            self._check_text("query", query, self._limits.query_characters)

        def look(service: Service) -> LiveGraphInfo:
            folded = self._graph.look(service)
            path = None if query is None else path_of(service, query)
            return LiveGraphInfo(
                queries=len(service.registry),
                nodes=_nodes(folded),
                edges=_edges(folded),
                path=None if path is None else GraphPath(nodes=_nodes(path), edges=_edges(path)),
            )

        return await self._worker.ask(look)

    async def schema(self) -> Schema:
        """What a query can speak of: streams, tables, functions."""
        catalog = self._worker.service.program.catalog
        functions = [
            FunctionInfo(
                name=name, arguments=signature(entry.arguments), summary=entry.summary,
                aggregate=name in AGGREGATE_FUNCTIONS,
            )
            for name, entry in {**SCALAR_FUNCTIONS, **AGGREGATE_FUNCTIONS}.items()
        ]  # fmt: skip
        functions += [
            FunctionInfo(
                name=each.name, arguments="...", summary="Registered.", aggregate=each.is_aggregate
            )
            for each in user_functions().values()
        ]
        return Schema(
            relations=[
                RelationInfo(
                    name=each.name,
                    kind="stream" if each.is_stream else "table",
                    columns=[ColumnInfo(name=c.name, type=c.type.value) for c in each.columns],
                    event_time=None
                    if each.event_time is None
                    else each.columns[each.event_time].name,
                )
                for each in catalog.relations.values()
            ],
            functions=functions,
            keywords=sorted({*RESERVED, *CONTEXTUAL}),
        )

    # Queries that are only tried

    async def check(self, given: TryQuery) -> Checked:
        """What is wrong with a query, or how it would be answered and by what it would be shared; nothing is registered."""
        self._check_text("text", given.text, self._limits.query_characters)
        return await self._worker.ask(lambda service: checked(service, given.text, given.name))

    async def preview(self, given: TryQuery) -> Previewed:
        """What a query would have found in the retained past; nothing that runs is touched."""
        self._check_text("text", given.text, self._limits.query_characters)
        if given.at is not None:
            self._check_text("at", given.at, self._limits.name_characters)
        service = self._worker.service
        names = await asyncio.to_thread(streams_of, service.program, given.text)
        seconds = self._limits.preview_seconds
        async with self._previews:
            past = await self._worker.ask(
                lambda service: take_past(service, names, MOST_ROWS), what="a preview"
            )
            found = await asyncio.to_thread(preview, past, given.text, seconds, given.at)
        return await asyncio.to_thread(previewed, found)


def _counts(service: Service) -> QueryCounts:
    kinds = dict.fromkeys(KINDS, 0)
    for entry in service.registry:
        kinds["stopped" if entry.stopped else entry.kind] += 1
    return QueryCounts(**kinds)


def _nodes(folded: Folded) -> list[GraphNode]:
    return [
        GraphNode(
            id=each.id, kind=each.kind, label=each.label, queries=each.queries,
            parts=[PartInfo(label=part.label, queries=part.queries) for part in each.parts.values()],
            more_parts=each.more_parts, names=each.names, note=each.note, counts=each.counts,
        )
        for each in folded.nodes.values()
    ]  # fmt: skip


def _edges(folded: Folded) -> list[GraphEdge]:
    return [
        GraphEdge(source=each.source, target=each.target, queries=each.queries, flow=each.flow)
        for each in folded.lines.values()
    ]
