"""Errors as answers: the status, one sentence, and a word to whoever keeps the service when it is a bug."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

import cqc

fastapi = pytest.importorskip("fastapi")

from cqc.runtime.serve.http.problems import add_problem_answers  # noqa: E402
from cqc.runtime.serve.refusal import Refusal, Status  # noqa: E402


def answer(error: Exception) -> tuple[int, dict[str, Any], list[str]]:
    """What an application answers to an error, and what it reports."""
    reported: list[str] = []
    app = fastapi.FastAPI()
    add_problem_answers(app, reported.append)
    kinds = [kind for kind in type(error).__mro__ if kind in app.exception_handlers]
    scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "server": ("h", 1)}
    scope |= {"query_string": b"", "scheme": "http"}
    found = app.exception_handlers[kinds[0]](fastapi.Request(scope), error)
    if asyncio.iscoroutine(found):
        found = asyncio.run(found)
    return found.status_code, json.loads(found.body), reported


def test_a_refusal_has_its_status_and_its_sentence() -> None:
    status, body, reported = answer(Refusal(Status.FORBIDDEN, "not yours"))
    assert (status, body, reported) == (
        Status.FORBIDDEN,
        {"error": "not yours", "diagnostics": []},
        [],
    )


def test_half_a_character_does_not_make_an_answer_unwritable() -> None:
    assert answer(Refusal(Status.INVALID, "a \ud800 b"))[1]["error"] == "a ? b"


def test_mistakes_in_a_query_are_told_one_by_one() -> None:
    with pytest.raises(cqc.CompileError) as caught:
        cqc.compile("SELECT x FROM nowhere")
    status, body, _ = answer(caught.value)
    assert status == Status.INVALID
    assert body["diagnostics"][0]["message"] == body["error"]


def test_a_bug_is_called_one_and_reported() -> None:
    status, body, reported = answer(ZeroDivisionError("by zero"))
    assert status == 500
    assert body["error"] == "this is a bug in cqc (ZeroDivisionError: by zero)"
    assert reported == ["GET /x: this is a bug in cqc (ZeroDivisionError: by zero)"]
