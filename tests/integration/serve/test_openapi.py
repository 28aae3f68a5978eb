"""Requests made from the service's own OpenAPI document, at random: every answer is one that the document names.

The document says which operations there are, their parameters and bodies; the values come from hypothesis, among them names
and queries that exist, so that answers are not all refusals.
"""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.integration.serve.running import Running, running

Document = dict[str, Any]
NAMES = st.sampled_from(["big", "total", "BIG", "q1", "q2", "s", "r"]) | st.text(max_size=20)
QUERIES = st.sampled_from(
    [
        "SELECT k FROM s",
        "SELECT COUNT(*) FROM s BEGIN NOW - 10 END NOW",
        "CREATE QUERY named AS SELECT s.k FROM s, r WHERE s.k = r.k MAXWINDOW 5 SEC",
        "SELECT k FROM s BEGIN 0 END NOW EVERY 5 SEC",
    ]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
ROWS = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("ts", "k", "x", "name", ""), SCALARS)),
    max_size=3,
)


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running(queries=30) as found:
        yield found


def operations(document: Document) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method.upper(), path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def values_of(schema: dict[str, Any], name: str, document: Document) -> st.SearchStrategy[Any]:
    """Values that a schema allows, and now and then one that it does not."""
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "object" and "properties" in schema:
        fields = {
            field: values_of(inner, field, document)
            for field, inner in schema["properties"].items()
        }
        required = {field: fields.pop(field) for field in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional=fields) | SCALARS
    if schema.get("type") == "array":
        return ROWS | SCALARS
    if name == "text":
        return QUERIES | st.text()
    return NAMES | SCALARS if "anyOf" in schema else NAMES


@st.composite
def requests(
    draw: st.DrawFn, document: Document
) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
    method, template, operation = draw(st.sampled_from(operations(document)))
    path = re.sub(r"\{\w+\}", lambda _: quote(draw(NAMES), safe=""), template)
    more: dict[str, Any] = {"headers": {}, "params": {}}
    for parameter in operation.get("parameters", []):
        if parameter["in"] == "path" or draw(st.booleans()):
            continue
        if parameter["in"] == "query":
            more["params"][parameter["name"]] = draw(
                st.sampled_from(["now", "start", "5"]) | st.text()
            )
        else:
            plain = st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=20)
            more["headers"][parameter["name"]] = draw(plain)
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]
        kind = draw(st.sampled_from(sorted(content)))
        if kind == "application/json":
            more["json"] = draw(values_of(content[kind]["schema"], "", document))
        else:
            more["content"] = draw(st.binary(max_size=60) | st.just(b"ts,k,x,name\n1,2,3,a\n"))
            more["headers"]["content-type"] = kind
    return method, path, operation, more


def test_every_answer_is_one_that_the_document_names(service: Running) -> None:
    document = service.client.get("/openapi.json").json()

    @settings(max_examples=100)
    @given(requests(document))
    def check(request: tuple[str, str, dict[str, Any], dict[str, Any]]) -> None:
        method, path, operation, more = request
        with service.client.stream(method, path, **more) as answer:
            status = str(answer.status_code)
            assert status in operation["responses"] or answer.is_client_error, status
            if answer.is_client_error:
                answer.read()
                assert set(answer.json()) >= {"error"}

    check()
