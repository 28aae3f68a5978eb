"""What goes over the wire is what the OpenAPI document says: every field, and no other."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.serve.http import models
from cqc.runtime.serve.http.recovering import Recovering
from tests.integration.serve.running import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

    import httpx
    from pydantic import BaseModel


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as service:
        service.push("s", {"ts": 1, "k": 1, "x": 11.0})
        yield service


def check(model: type[BaseModel], answer: httpx.Response) -> None:
    """The answer has the fields of its model and nothing else; those with a default may be left out."""
    content = answer.json()
    model.model_validate(content)
    fields = model.model_fields
    assert set(content) <= set(fields)
    assert {name for name, field in fields.items() if field.is_required()} <= set(content)


def test_answers_have_the_fields_of_their_models(service: Running) -> None:
    client = service.client
    check(models.Health, client.get("/health"))
    check(models.QueryList, client.get("/queries"))
    check(models.QueryDetail, client.get("/queries/big"))
    latest = client.get("/results", headers={"accept": "application/json"})
    check(models.ResultList, latest)
    check(models.Answer, client.get("/queries/total/invoke"))
    check(models.Pushed, client.post("/streams/s", json=[{"ts": 2}, {"ts": "x"}]))
    check(models.QueryInfo, client.post("/queries", json={"text": "SELECT k FROM s"}))
    check(models.Problem, client.get("/queries/nowhere"))
    wrong = client.post("/queries", json={"text": "SELECT nothing FROM s"})
    check(models.Problem, wrong)
    (told, *_) = wrong.json()["diagnostics"]
    assert set(told) == set(models.DiagnosticInfo.model_fields)


def test_a_service_that_reads_its_checkpoint_says_its_health_in_the_same_words() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answer = Recovering(listener, lambda sentence: None)._answer(
            b"GET /health HTTP/1.1\r\n\r\n"
        )
    content = json.loads(answer.partition(b"\r\n\r\n")[2])
    models.Health.model_validate(content)
    assert set(content) == set(models.Health.model_fields)
