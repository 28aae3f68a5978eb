"""Schemathesis reads the service's OpenAPI document and sends what it allows, and what it does not: no answer breaks the document.

Results as server-sent events have no end, which schemathesis would wait for; `test_openapi.py` asks for those.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.integration.serve.running import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator

schemathesis = pytest.importorskip("schemathesis", reason="the extra `dev` is not installed")
from schemathesis import GenerationMode  # noqa: E402 - only where it is installed
from schemathesis.checks import not_a_server_error  # noqa: E402
from schemathesis.specs.openapi.checks import (  # noqa: E402
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
OPERATIONS = [
    "GET /queries",
    "POST /queries",
    "GET /queries/{name}",
    "PUT /queries/{name}",
    "DELETE /queries/{name}",
    "GET /queries/{name}/invoke",
    "POST /queries/{name}/invoke",
    "POST /streams/{name}",
    "GET /health",
    "GET /metrics",
    "GET /overview",
    "GET /graph",
    "GET /schema",
    "POST /check",
    "POST /preview",
    "POST /execute",
    "GET /alerts",
    "GET /sinks",
    "POST /sinks/{name}/test",
]
# Names that exist, so that not every answer is that there is no such thing.
NAMES = st.sampled_from(["total", "big", "ToTaL", "s", "R", "nobody"])
TEXTS = st.sampled_from(
    [
        "SELECT k FROM s",
        "SELECT COUNT(*) FROM s BEGIN NOW - 10 END NOW",
        "CREATE QUERY named AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 5 SEC",
        "SELECT k FROM s BEGIN 0 END NOW EVERY 5 SEC",
        "SELECT nothing FROM nowhere",
    ]
)


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running(queries=40) as found:
        found.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "é"})
        yield found


@pytest.fixture(scope="module")
def schema(service: Running) -> Any:
    return schemathesis.openapi.from_url(f"{service.address}/openapi.json")


def test_every_operation_is_tried(schema: Any) -> None:
    found = {f"{each.ok().method.upper()} {each.ok().path}" for each in schema.get_all_operations()}
    assert found == {*OPERATIONS, "GET /results", "GET /queries/{name}/results"}


@pytest.mark.parametrize(
    ("name", "mode"),
    [(name, GenerationMode.POSITIVE) for name in OPERATIONS]
    # The others take nothing but a name, and every text is one.
    + [
        (name, GenerationMode.NEGATIVE)
        for name in OPERATIONS
        if ("POST" in name and "/sinks" not in name) or "invoke" in name
    ],
)
def test_no_answer_breaks_the_document(schema: Any, name: str, mode: GenerationMode) -> None:
    method, _, path = name.partition(" ")
    operation = schema[path][method]

    @settings(max_examples=25, suppress_health_check=list(HealthCheck))
    @given(operation.as_strategy(generation_mode=mode), st.none() | NAMES, st.none() | TEXTS)
    def check(case: Any, known: str | None, text: str | None) -> None:
        if known is not None and "name" in case.path_parameters:
            case.path_parameters["name"] = known
        if text is not None and isinstance(case.body, dict) and "text" in case.body:
            case.body["text"] = text
        case.call_and_validate(checks=CHECKS, timeout=60)

    check()


def test_the_service_goes_on(service: Running) -> None:
    service.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", name="at_the_end")
    assert service.invoke("at_the_end")["rows"][0]["n"] >= 1
    assert not service.problems
