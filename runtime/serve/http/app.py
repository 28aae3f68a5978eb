"""The service over HTTP: routes, and what an error looks like.

Handlers only translate: they check what is asked for, let the engine's thread do it (`worker.py`), and write the answer in the
form the client wants. Whatever a client sends, the answer is one of 2xx or 4xx, or 503/504 when the engine is busy.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.openapi.utils import get_openapi
from fastapi.responses import PlainTextResponse
from starlette.convertors import StringConvertor, register_url_convertor

from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.serve.console import CONSOLE
from cqc.runtime.serve.http.access import CALLER
from cqc.runtime.serve.http.alert_info import alert_lines, alert_list
from cqc.runtime.serve.http.answers import JSON, choose_form, last_results, wants_json, write_answer
from cqc.runtime.serve.http.bodies import FEW_BYTES, check_kind, read_body
from cqc.runtime.serve.http.events import EventResponse, Watchers, events, find_place
from cqc.runtime.serve.http.exposition import (
    CONTENT_TYPE,
    Histogram,
    engine_lines,
    metric,
    query_lines,
    sink_lines,
    text_of,
)
from cqc.runtime.serve.http.models import (
    AlertList,
    Answer,
    BusyInfo,
    Executed,
    Health,
    NewQuery,
    Problem,
    Pushed,
    QueryDetail,
    QueryInfo,
    QueryList,
    QueryText,
    ResultList,
    SinkInfo,
    SinkList,
    SinkTested,
    Statements,
)
from cqc.runtime.serve.http.problems import add_problem_answers
from cqc.runtime.serve.http.query_info import info_of, utc_text
from cqc.runtime.serve.http.statements_api import execute_all
from cqc.runtime.serve.http.tokens import Caller, Role
from cqc.runtime.serve.http.view_models import Checked, LiveGraphInfo, Overview, Previewed, Schema
from cqc.runtime.serve.http.views_api import ViewsApi
from cqc.runtime.serve.refusal import Refusal, Status
from cqc.runtime.serve.statements import name_in

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch
    from cqc.runtime.serve.feeding import Feeding
    from cqc.runtime.serve.registry import Entry
    from cqc.runtime.serve.service import Service
    from cqc.runtime.serve.worker import Busy, Held, Worker

# What is small is done at once: another thread would take longer to begin than to do it.
_FEW_ROWS = 100
_READERS = 2  # of large bodies at once

_PROBLEMS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": Problem, "description": "The request was refused; `error` says why."},
    503: {"model": Problem, "description": "The engine is busy; try again later."},
    504: {"model": Problem, "description": "The answer took too long; try again later."},
}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "Needed where the service has tokens. An admin's may do everything, a user's register, push and remove"
    " the user's own queries, a reader's list, invoke and watch.",
}
_ROWS_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {"schema": {"type": "array", "items": {"type": "object"}}},
            "application/x-ndjson": {"schema": {"type": "string"}},
            "text/csv": {"schema": {"type": "string"}},
            "application/vnd.apache.arrow.stream": {
                "schema": {"type": "string", "format": "binary"}
            },
        },
    }
}


_RESULTS: dict[str, Any] = {
    "description": "Events, or with `Accept: application/json` the latest results.",
    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ResultList"}}},
}
Since = Annotated[str | None, Query(description="now, start, or the last id seen")]
Most = Annotated[
    int | None,
    Query(
        ge=1, le=10_000, description="At most so many a second: the latest; the rest is counted."
    ),
]
Limit = Annotated[int, Query(ge=1, le=1_000, description="How many, of the latest as JSON.")]


class _AnythingConvertor(StringConvertor):
    """A name in a path: any characters, line ends and slashes too."""

    regex = r"[\s\S]*"


register_url_convertor("anything", _AnythingConvertor())


class Api:
    """The application of one service."""

    def __init__(
        self,
        worker: Worker,
        watchers: Watchers,
        feeding: Feeding,
        report: Callable[[str], None],
    ) -> None:
        self._report = report
        self._worker = worker
        self._watchers = watchers
        self._feeding = feeding
        self._limits = worker.service.limits
        self._invoke_seconds = Histogram()
        self._readers = asyncio.Semaphore(_READERS)
        self.views = ViewsApi(worker, _check_text, self._health)
        self.app = FastAPI(
            title="cqc",
            summary="Standing queries over streams.",
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )
        self._add_routes()
        add_problem_answers(self.app, self._report)
        self.app.openapi = self._document  # type: ignore[method-assign]  # how FastAPI lets one add to it

    def _document(self) -> dict[str, Any]:
        """The OpenAPI document, with how a token is shown: FastAPI does not know of the gate before it."""
        if self.app.openapi_schema is None:
            found = get_openapi(
                title=self.app.title,
                version=self.app.version,
                summary=self.app.summary,
                routes=self.app.routes,
            )
            schema = ResultList.model_json_schema(ref_template="#/components/schemas/{model}")
            found["components"]["schemas"] |= {**schema.pop("$defs"), "ResultList": schema}
            found["components"]["securitySchemes"] = {"token": _TOKEN}
            found["security"] = [{"token": []}, {}]
            found["paths"]["/health"]["get"]["security"] = [{}]
            self.app.openapi_schema = found
        return self.app.openapi_schema

    def _add_routes(self) -> None:
        # A query's name may hold any character, a slash too: longer paths come first.
        add = self.app.add_api_route
        invoke_answers = {**_PROBLEMS, 200: {"model": Answer}}
        for method in ("GET", "POST"):
            add(
                "/queries/{name:anything}/invoke", self.invoke, methods=[method],
                response_class=Response, responses=invoke_answers, operation_id=f"invoke_{method.lower()}",
            )  # fmt: skip
        results_answers = {**_PROBLEMS, 200: _RESULTS}
        add(
            "/queries/{name:anything}/results", self.watch_one, methods=["GET"], status_code=200,
            response_class=EventResponse, response_model=None, responses=results_answers,
        )  # fmt: skip
        add(
            "/queries", self.register, methods=["POST"], status_code=201,
            response_model=QueryInfo, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/execute", self.execute, methods=["POST"], response_model=Executed,
            response_model_exclude_none=True, responses=_PROBLEMS,
        )  # fmt: skip
        views = self.views
        add(
            "/queries", views.queries, methods=["GET"], response_class=Response,
            responses={**_PROBLEMS, 200: {"model": QueryList}},
        )  # fmt: skip
        one = "/queries/{name:anything}"
        add(one, views.query, methods=["GET"], response_model=QueryDetail, responses=_PROBLEMS)
        add(
            one, self.put, methods=["PUT"], response_model=QueryInfo,
            responses={**_PROBLEMS, 201: {"model": QueryInfo, "description": "There was none."}},
        )  # fmt: skip
        add(
            one, self.unregister, methods=["DELETE"], status_code=204,
            response_class=Response, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/results", self.watch_all, methods=["GET"], status_code=200,
            response_class=EventResponse, response_model=None, responses=results_answers,
        )  # fmt: skip
        for path, look, model in (
            ("/overview", views.overview, Overview),
            ("/graph", views.graph, LiveGraphInfo),
            ("/schema", views.schema, Schema),
        ):
            add(path, look, methods=["GET"], response_model=model, responses=_PROBLEMS)
        for path, attempt, tried in (
            ("/check", views.check, Checked),
            ("/preview", views.preview, Previewed),
        ):
            add(path, attempt, methods=["POST"], response_model=tried, responses=_PROBLEMS)
        add(
            "/streams/{name:anything}", self.push, methods=["POST"],
            response_model=Pushed, response_model_exclude_defaults=True,
            responses=_PROBLEMS, openapi_extra=_ROWS_BODY,
        )  # fmt: skip
        add("/alerts", self.alerts, methods=["GET"], response_model=AlertList, responses=_PROBLEMS)
        add("/sinks", self.sinks, methods=["GET"], response_model=SinkList, responses=_PROBLEMS)
        add(
            "/sinks/{name:anything}/test", self.test_sink, methods=["POST"],
            response_model=SinkTested, responses=_PROBLEMS,
        )  # fmt: skip
        add("/health", self.health, methods=["GET"], response_model=Health)
        add(
            "/metrics", self.metrics, methods=["GET"], response_class=PlainTextResponse,
            responses=_PROBLEMS,
        )  # fmt: skip
        for path, file in CONSOLE.paths.items():
            add(
                path, functools.partial(_console_file, file), methods=["GET"],
                response_class=Response, name=f"console {file}", include_in_schema=False,
            )  # fmt: skip

    # Queries

    async def register(self, given: NewQuery, request: Request) -> QueryInfo:
        """Register a query; a push query sees what arrives from now on, a pull query also the retained past."""
        _check_text("text", given.text, self._limits.query_characters)
        self._check_names(given.name, given.owner)
        if given.replace:
            name = given.name or name_in(given.text)
            if name is None:
                raise Refusal(Status.INVALID, "to replace a query, say its name")
            return (await self._replace(name, given.text, given.owner, request))[0]
        owner = _owner(request, given.owner)
        entry = await self._worker.change(
            lambda service: service.register(given.text, given.name, owner),
            what="the registration of a query",
        )
        return info_of(self.views.row_of(entry))

    async def execute(self, given: Statements, request: Request) -> Executed:
        """Do what statements say: DROP, SHOW, DESCRIBE, CREATE QUERY. The last one's answer comes back."""
        _check_text("text", given.text, self._limits.query_characters)
        caller, owner = _caller(request), _owner(request, None)

        def remove(service: Service, name: str) -> None:
            service.unregister(_removable(service, name, caller).name)

        def execute(service: Service) -> Executed:
            return execute_all(service, given.text, owner, remove)

        return await self._worker.change(execute, what="statements")

    async def put(
        self, name: str, given: QueryText, request: Request, response: Response
    ) -> QueryInfo:
        """Let the query of this name be exactly this one: registered, replaced, or left as it is when nothing changes."""
        _check_text("text", given.text, self._limits.query_characters)
        self._check_names(name, given.owner)
        found, is_new = await self._replace(name, given.text, given.owner, request)
        response.status_code = 201 if is_new else 200
        return found

    async def _replace(
        self, name: str, text: str, given_owner: str | None, request: Request
    ) -> tuple[QueryInfo, bool]:
        caller = _caller(request)

        def replace(service: Service) -> tuple[Entry, bool]:
            is_new = name not in service.registry
            owner = given_owner
            if not is_new:
                owner = owner or _removable(service, name, caller, "replace").owner
            return service.replace(text, name, _owner(request, owner))[0], is_new

        entry, is_new = await self._worker.change(replace, what="the replacement of a query")
        return info_of(self.views.row_of(entry)), is_new

    def _check_names(self, *names: str | None) -> None:
        for field, value in zip(("name", "owner"), names, strict=True):
            if value is not None:
                _check_text(field, value, self._limits.name_characters)
                if not value.strip():
                    raise Refusal(Status.INVALID, f"{field} is empty")

    async def unregister(self, name: str, request: Request) -> Response:
        """Remove a query; the others do not notice. A user's token removes the queries of that user alone."""
        caller = _caller(request)
        service = self._worker.service
        is_known = name in service.registry
        if is_known:
            _removable(
                service, name, caller
            )  # before the engine is told to give up what it does for it
        await self._worker.change(
            lambda service: service.unregister(_removable(service, name, caller).name),
            what="the removal of a query",
            removing=name if is_known or caller.role >= Role.ADMIN else None,
        )
        return Response(status_code=204)

    async def invoke(
        self,
        name: str,
        at: Annotated[
            str | None, Query(description="The instant asked about; default the latest.")
        ] = None,
        accept: Annotated[str, Header(description="JSON, CSV or an Arrow stream.")] = "",
    ) -> Response:
        """The value of a query with BEGIN-END at an instant."""
        form = choose_form(accept)
        if at is not None:
            _check_text("at", at, self._limits.name_characters)
        started = time.perf_counter()
        entry, asked = await self._worker.ask(
            lambda service: service.invoke(name, at),
            self._limits.invoke_seconds,
            what="an invocation",
        )
        write = functools.partial(write_answer, entry, asked, form)
        body = write() if len(asked.block) <= _FEW_ROWS else await asyncio.to_thread(write)
        self._invoke_seconds.observe(time.perf_counter() - started)
        # As JSON, because a query's name may hold what a header may not.
        headers = {"x-cqc-warnings": json.dumps(asked.warnings)} if asked.warnings else None
        return Response(body, media_type=form, headers=headers)

    # Results

    async def watch_one(
        self,
        name: str,
        since: Since = None,
        most: Most = None,
        limit: Limit = 100,
        accept: Annotated[str, Header(description="Events, or the latest as JSON.")] = "",
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The results of one query as server-sent events; with `Accept: application/json` the latest that are kept."""
        entry = await self._worker.ask(lambda service: service.registry.find(name))
        if wants_json(accept):
            return await self._last(entry, limit)
        if entry.kind == "pull":
            raise Refusal(
                Status.CONFLICT,
                f"query {entry.name} has results only when asked: invoke it, or add EVERY",
            )
        return self._watch(entry, since, last_event_id, most)

    async def watch_all(
        self,
        since: Since = None,
        most: Most = None,
        limit: Limit = 100,
        accept: Annotated[str, Header(description="Events, or the latest as JSON.")] = "",
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> Response:
        """The results of all queries as server-sent events; with `Accept: application/json` the latest that are kept."""
        if wants_json(accept):
            return await self._last(None, limit)
        return self._watch(None, since, last_event_id, most)

    async def _last(self, entry: Entry | None, limit: int) -> Response:
        service = self._worker.service
        number = None if entry is None else entry.number
        body = await asyncio.to_thread(last_results, service.results, service.epoch, number, limit)
        return Response(body, media_type=JSON)

    def _watch(
        self, entry: Entry | None, since: str | None, last_id: str | None, most: int | None
    ) -> EventResponse:
        service = self._worker.service
        place = find_place(service.results, service.epoch, last_id, since)
        bell = self._watchers.join()

        def left(stuck: bool) -> None:
            self._watchers.leave(bell)
            self._watchers.dropped += stuck

        body = events(
            service.results,
            service.epoch,
            self._watchers,
            bell,
            place,
            None if entry is None else entry.number,
            lambda: _end_of(entry),
            most,
        )
        return EventResponse(body, self._limits.watcher_seconds, left)

    # Rows

    async def push(
        self, name: str, request: Request, content_type: Annotated[str, Header()] = ""
    ) -> Pushed:
        """Give the engine rows of a stream (or of a table, before the first row of a stream)."""
        relation = self._worker.service.program.catalog.find(name)
        if relation is None:
            raise Refusal(Status.NOT_FOUND, f"there is no stream or table {name}")
        check_kind(content_type)  # before the body is read for nothing
        with self._worker.holding() as held:
            taken = await self._rows(relation, content_type, request, held)
            held.become(taken.nbytes)
            await self._feeding.files_first(fold(relation.name))
            outcome = await self._worker.change(
                lambda service: service.take(relation.name, taken),
                what=f"{len(taken):,} rows of {relation.name}",
            )
        return Pushed(
            read=outcome.read,
            accepted=outcome.accepted,
            late=outcome.late,
            rejected=outcome.rejected,
            reasons=outcome.reasons,
            waiting=outcome.waiting,
            nulled=outcome.nulled,
            warnings=outcome.warnings,
        )

    async def _rows(
        self, relation: Relation, content_type: str, request: Request, held: Held
    ) -> TypedBatch:
        body = bytearray()
        async for part in request.stream():
            held.grow(len(part))
            body += part
        most_rows = self._limits.rows_of(len(relation.columns))
        read = functools.partial(read_body, relation, content_type, bytes(body), most_rows)
        if len(body) <= FEW_BYTES:
            return read()
        body.clear()
        async with self._readers:
            return await asyncio.to_thread(read)

    # Alerts and sinks

    async def alerts(self, query: str | None = None, most: int = 1_000) -> AlertList:
        """The alerts with the keys that are pending or firing; `query` names one, `most` bounds the keys of each."""
        return await self._worker.ask(lambda service: alert_list(service, query, most))

    async def sinks(self) -> SinkList:
        """The sinks of the program: what was sent, what waits, what failed."""
        found = self._worker.service.sinks.measure()
        return SinkList(sinks=[SinkInfo(**asdict(each)) for each in found])

    async def test_sink(self, name: str) -> SinkTested:
        """Send one marked result to a sink. It does not wait behind others, and is no result of a query."""
        try:
            id_ = await asyncio.to_thread(self._worker.service.sinks.test, name)
        except RunError as error:
            raise Refusal(Status.CONFLICT, str(error)) from error
        return SinkTested(sink=name, id=id_)

    # The service itself

    async def health(self, request: Request) -> Health:
        """Whether the service works. Needs no token; without one it says nothing of what is wrong where."""
        return self._health(CALLER in request.scope)

    def _health(self, is_trusted: bool) -> Health:
        service, busy = self._worker.service, self._worker.busy
        status = "ok" if busy is None else "busy"
        return Health(
            status=status if service.failure is None else "failed",
            recovered=None,
            busy=_busy_info(busy) if busy is not None and is_trusted else None,
            engine=self._feeding.engine,
            caught_up=self._feeding.caught_up,
            queries=len(service.registry),
            tuples=service.engine.tuples_read,
            problems=list(self._feeding.problems) if is_trusted else [],
        )

    async def metrics(self) -> PlainTextResponse:
        """Counters in Prometheus' text format."""
        table = await self.views.fresh()
        lines = await self._worker.ask(engine_lines)
        lines += query_lines(table)
        lines += await self._worker.ask(alert_lines)
        lines += sink_lines(self._worker.service.sinks.measure())
        lines += metric("cqc_watchers", "gauge", "Connected watchers.", len(self._watchers))
        dropped = self._watchers.dropped
        lines += metric("cqc_watchers_dropped_total", "counter", "Read too slowly.", dropped)
        lines += metric("cqc_requests_waiting", "gauge", "In the queue.", self._worker.waiting)
        held = self._worker.waiting_bytes
        lines += metric("cqc_waiting_bytes", "gauge", "Rows received, read or in the queue.", held)
        age = time.time() - self._worker.service.started
        lines += metric("cqc_uptime_seconds", "gauge", "Since the start.", round(age, 3))
        name = "cqc_invocation_seconds"
        lines += [f"# HELP {name} From question to answer.", f"# TYPE {name} histogram"]
        lines += self._invoke_seconds.lines(name)
        return PlainTextResponse(text_of(lines), media_type=CONTENT_TYPE)


async def _console_file(file: str, request: Request) -> Response:
    """A file of the console."""
    return CONSOLE.answer(file, request.headers)


def _end_of(entry: Entry | None) -> dict[str, str] | None:
    """Why a watcher of the query hears no more; None while it may."""
    if entry is None or not entry.gone:
        return None
    if entry.stopped:
        return {
            "reason": "query stopped",
            "error": f"query {entry.name} was stopped: {entry.stopped}",
        }
    return {"reason": "unregistered"}


def _caller(request: Request) -> Caller:
    found: Caller = request.scope[CALLER]  # the gate lets nobody else through to where it is asked
    return found


def _owner(request: Request, given: str | None) -> str:
    """Who a query is for; a user cannot say that it is somebody else's."""
    name = _caller(request).name
    if name is None:
        return given or "http"
    if given not in (None, name):
        raise Refusal(
            Status.FORBIDDEN, f"with the token of {name} the owner is {name}, and nobody else"
        )
    return name


def _removable(service: Service, name: str, caller: Caller, what: str = "remove") -> Entry:
    """The query, if the caller may remove (or replace) it."""
    entry = service.registry.find(name)
    is_own = entry.by_client and entry.owner == caller.name
    if caller.role < Role.ADMIN and not is_own:
        raise Refusal(
            Status.FORBIDDEN,
            f"query {entry.name} is not {caller.name}'s: its owner or an admin can {what} it",
        )
    return entry


def _busy_info(busy: Busy) -> BusyInfo:
    return BusyInfo(
        what=busy.what,
        query=busy.query or None,
        since=utc_text(busy.since),
        seconds=round(busy.seconds, 1),
    )


def _check_text(field: str, value: str, most: int) -> None:
    if len(value) > most:
        raise Refusal(Status.TOO_LARGE, f"{field} is longer than {most:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Refusal(Status.INVALID, f"{field} is not text: it holds half a character") from error
