"""The routes: names of any characters, and an answer in words for whatever is asked that there is not."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.integration.serve.running import Running, running

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as service:
        yield service


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404), ("GET", "/queries/", 404), ("DELETE", "/queries/none", 404), ("PUT", "/queries", 405),
        ("POST", "/streams/none", 404), ("GET", "/streams/s", 405), ("GET", "/queries/big/invoke", 409), ("GET", "/assets/none", 404),
    ],
)  # fmt: skip
def test_what_there_is_not_is_answered_in_words(
    method: str, path: str, status: int, service: Running
) -> None:
    answer = service.client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["error"]
    assert answer.json()["diagnostics"] == []


@pytest.mark.parametrize("name", ["a/b", "invoke", "ü?#%", "line\nend", "results"])
def test_a_name_may_hold_any_character(name: str, service: Running) -> None:
    service.register("SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW", name=name)
    path = f"/queries/{quote(name, safe='')}"
    assert service.client.get(path).json()["name"] == name
    assert service.client.get(f"{path}/invoke").json()["query"] == name
    assert service.client.delete(path).status_code == 204
    assert name not in service.names()
