"""Errors as answers, each with the status that fits it; written in ASCII, so that nothing a client sent can make the answer unwritable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from cqc.compiler.diagnostics.diagnostic import CompileError, render_json
from cqc.runtime.serve.refusal import Refusal, Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from fastapi import FastAPI, Request, Response


def add_problem_answers(app: FastAPI, report: Callable[[str], None]) -> None:
    """Let an application answer every error; `report` hears of those that are bugs."""

    def met_a_bug(request: Request, error: Exception) -> Response:
        message = f"this is a bug in cqc ({type(error).__name__}: {error})"
        report(f"{request.method} {request.url.path}: {message}")
        return _problem(500, message)

    add = app.add_exception_handler
    add(Refusal, _refused)
    add(CompileError, _with_diagnostics)
    add(RequestValidationError, _not_valid)
    add(HTTPException, _http_problem)
    add(ClientDisconnect, _hung_up)
    add(Exception, met_a_bug)


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
