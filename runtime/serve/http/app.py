"""The service over HTTP: routes, and what an error looks like.

Handlers only translate: they check what is asked for, let the engine's thread do it (`worker.py`), and write the answer in the
form the client wants. Whatever a client sends, the answer is one of 2xx or 4xx, or 503/504 when the engine is busy.
"""

from __future__ import annotations

import asyncio
import functools
import json
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import FastAPI, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse, PlainTextResponse
from starlette.convertors import StringConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from cqc.compiler.diagnostics.diagnostic import CompileError, render_json
from cqc.runtime.serve.http.access import CALLER
from cqc.runtime.serve.http.answers import choose_form, write_answer
from cqc.runtime.serve.http.bodies import FEW_BYTES, check_kind, read_body
from cqc.runtime.serve.http.events import EventResponse, Watchers, events, find_place
from cqc.runtime.serve.http.exposition import CONTENT_TYPE, Histogram, engine_lines, metric, text_of
from cqc.runtime.serve.http.models import (
    Answer,
    BusyInfo,
    ColumnInfo,
    Health,
    NewQuery,
    Problem,
    Pushed,
    QueryInfo,
    QueryList,
)
from cqc.runtime.serve.http.tokens import Caller, Role
from cqc.runtime.serve.refusal import Refusal, Status

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
        self.app = FastAPI(
            title="cqc",
            summary="Standing queries over streams.",
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )
        self._add_routes()
        self._add_error_answers()
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
        add(
            "/queries/{name:anything}/results", self.watch_one, methods=["GET"], status_code=200,
            response_class=EventResponse, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/queries", self.register, methods=["POST"], status_code=201,
            response_model=QueryInfo, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/queries", self.queries, methods=["GET"], response_class=Response,
            responses={**_PROBLEMS, 200: {"model": QueryList}},
        )  # fmt: skip
        one = "/queries/{name:anything}"
        add(one, self.query, methods=["GET"], response_model=QueryInfo, responses=_PROBLEMS)
        add(
            one, self.unregister, methods=["DELETE"], status_code=204,
            response_class=Response, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/results", self.watch_all, methods=["GET"], status_code=200,
            response_class=EventResponse, responses=_PROBLEMS,
        )  # fmt: skip
        add(
            "/streams/{name:anything}", self.push, methods=["POST"],
            response_model=Pushed, response_model_exclude_defaults=True,
            responses=_PROBLEMS, openapi_extra=_ROWS_BODY,
        )  # fmt: skip
        add("/health", self.health, methods=["GET"], response_model=Health)
        add("/metrics", self.metrics, methods=["GET"], response_class=PlainTextResponse)

    def _add_error_answers(self) -> None:
        add = self.app.add_exception_handler
        add(Refusal, _refused)
        add(CompileError, _with_diagnostics)
        add(RequestValidationError, _not_valid)
        add(HTTPException, _http_problem)
        add(ClientDisconnect, _hung_up)
        add(Exception, self._met_a_bug)

    def _met_a_bug(self, request: Request, error: Exception) -> Response:
        message = f"this is a bug in cqc ({type(error).__name__}: {error})"
        self._report(f"{request.method} {request.url.path}: {message}")
        return _problem(500, message)

    # Queries

    async def register(self, given: NewQuery, request: Request) -> QueryInfo:
        """Register a query; a push query sees what arrives from now on, a pull query also the retained past."""
        _check_text("text", given.text, self._limits.query_characters)
        for field, value in (("name", given.name), ("owner", given.owner)):
            if value is not None:
                _check_text(field, value, self._limits.name_characters)
                if not value.strip():
                    raise Refusal(Status.INVALID, f"{field} is empty")
        owner = _owner(request, given.owner)
        entry = await self._worker.change(
            lambda service: service.register(given.text, given.name, owner),
            what="the registration of a query",
        )
        return _info(entry, entry.own_seconds, 0)

    async def queries(self) -> Response:
        """All registered queries with their owner, age, results and cost."""
        entries = await self._worker.ask(lambda service: service.costs())
        # There may be a hundred thousand: neither the engine nor other requests wait for their text.
        body = await asyncio.to_thread(_list_text, entries)
        return Response(body, media_type="application/json")

    async def query(self, name: str) -> QueryInfo:
        """One registered query."""
        return _info(*await self._worker.ask(lambda service: _with_cost(service, name)))

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
        since: Annotated[str | None, Query(description="now, start, or the last id seen")] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> EventResponse:
        """The results of one query as server-sent events."""
        entry = await self._worker.ask(lambda service: service.registry.find(name))
        if entry.kind == "pull":
            raise Refusal(
                Status.CONFLICT,
                f"query {entry.name} has results only when asked: invoke it, or add EVERY",
            )
        return self._watch(entry, since, last_event_id)

    async def watch_all(
        self,
        since: Annotated[str | None, Query(description="now, start, or the last id seen")] = None,
        last_event_id: Annotated[str | None, Header()] = None,
    ) -> EventResponse:
        """The results of all queries as server-sent events."""
        return self._watch(None, since, last_event_id)

    def _watch(self, entry: Entry | None, since: str | None, last_id: str | None) -> EventResponse:
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

    # The service itself

    async def health(self, request: Request) -> Health:
        """Whether the service works. Needs no token; without one it says nothing of what is wrong where."""
        service, busy = self._worker.service, self._worker.busy
        is_trusted = CALLER in request.scope
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
        lines = await self._worker.ask(engine_lines)
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


def _removable(service: Service, name: str, caller: Caller) -> Entry:
    """The query, if the caller may remove it."""
    entry = service.registry.find(name)
    is_own = entry.by_client and entry.owner == caller.name
    if caller.role < Role.ADMIN and not is_own:
        raise Refusal(
            Status.FORBIDDEN,
            f"query {entry.name} is not {caller.name}'s: its owner or an admin can remove it",
        )
    return entry


def _with_cost(service: Service, name: str) -> tuple[Entry, float, int]:
    return service.cost(name)


def _list_text(entries: list[tuple[Entry, float, int]]) -> str:
    return QueryList(queries=[_info(*each) for each in entries]).model_dump_json()


def _info(entry: Entry, cost_seconds: float, kept_bytes: int) -> QueryInfo:
    return QueryInfo(
        id=entry.number,
        name=entry.name,
        owner=entry.owner,
        kind=entry.kind,
        age_seconds=max(round(time.time() - entry.created, 3), 0.0),  # clocks are set back at times
        created=datetime.fromtimestamp(entry.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        results=entry.results,
        invocations=entry.invocations,
        cost_seconds=round(cost_seconds, 6),
        kept_bytes=kept_bytes,
        columns=[ColumnInfo(name=name, type=type_) for name, type_ in entry.columns],
        text=entry.text,
        stopped=entry.stopped or None,
    )


def _busy_info(busy: Busy) -> BusyInfo:
    return BusyInfo(
        what=busy.what,
        query=busy.query or None,
        since=datetime.fromtimestamp(busy.since, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        seconds=round(busy.seconds, 1),
    )


def _check_text(field: str, value: str, most: int) -> None:
    if len(value) > most:
        raise Refusal(Status.TOO_LARGE, f"{field} is longer than {most:,} characters")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Refusal(Status.INVALID, f"{field} is not text: it holds half a character") from error


# Errors as answers; written in ASCII, so that nothing a client sent can make the answer unwritable.


def _problem(status: int, message: str, diagnostics: list[Any] | None = None) -> JSONResponse:
    headers = {"retry-after": "1"} if status in (Status.BUSY, Status.TOO_MANY) else None
    content = {"error": message.encode(errors="replace").decode(), "diagnostics": diagnostics or []}
    return JSONResponse(content, status, headers)


def _refused(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, Refusal)
    return _problem(error.status, str(error))


def _with_diagnostics(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, CompileError)
    found = [{**json.loads(render_json(each)), "detail": each.detail} for each in error.diagnostics]
    message = "the query has errors" if len(found) != 1 else found[0]["message"]
    return _problem(Status.INVALID, message, found)


def _not_valid(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RequestValidationError)
    parts = [
        f"{'.'.join(str(part) for part in each['loc'])}: {each['msg']}"
        for each in error.errors()[:5]
    ]
    return _problem(Status.INVALID, "; ".join(parts))


def _hung_up(request: Request, error: Exception) -> Response:
    del request, error
    return _problem(Status.MALFORMED, "the body is not whole")  # nobody is there to read it


def _http_problem(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, HTTPException)
    answer = _problem(error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return answer
