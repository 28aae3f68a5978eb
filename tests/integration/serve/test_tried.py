"""Queries that are only tried: what is wrong with them, how they would be answered, what the past has for them."""

from collections.abc import Iterator

import pytest

from tests.integration.serve.running import Running, running


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        found.push("s", *({"ts": n, "k": n % 7, "x": float(n), "name": "a"} for n in range(60)))
        yield found


def test_mistakes_come_with_their_place(service: Running) -> None:
    answer = service.client.post("/check", json={"text": "SELECT nothing\nFROM s"}).json()
    assert not answer["ok"]
    [mistake] = answer["diagnostics"]
    assert (mistake["line"], mistake["column"], mistake["code"]) == (1, 8, "CQ031")
    assert mistake["hint"] or mistake["detail"]


def test_a_good_query_says_how_it_would_be_answered_and_who_asks_the_same(service: Running) -> None:
    answer = service.client.post("/check", json={"text": "SELECT x FROM s WHERE 10 < x"}).json()
    assert answer["ok"]
    assert answer["kind"] == "push"
    assert answer["shared_with"] == 2
    assert answer["same_question"] == ["big"]
    assert {"what": "attribute", "text": "x > 10.0"} in answer["plan"]


def test_a_name_that_is_there_would_be_replaced(service: Running) -> None:
    given = {"text": "SELECT x FROM s", "name": "big"}
    answer = service.client.post("/check", json=given).json()
    assert (answer["ok"], answer["name"], answer["replaces"]) == (True, "big", True)


def test_a_preview_finds_what_the_past_has_and_registers_nothing(service: Running) -> None:
    answer = service.client.post(
        "/preview", json={"text": "SELECT k, x FROM s WHERE x > 49"}
    ).json()
    assert answer["results"] == 10
    assert answer["latest"][0] == {
        "id": "", "query": "preview", "ts": 59, "at": None, "row": {"k": 3, "x": 59.0},
    }  # fmt: skip
    assert sum(answer["over_time"]["counts"]) == 10
    assert service.names() == ["big", "total"]


def test_a_question_is_answered_at_an_instant(service: Running) -> None:
    text = "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW"
    for at, count in ((None, 60), ("9", 10)):
        answer = service.client.post("/preview", json={"text": text, "at": at}).json()
        assert answer["answer"]["rows"] == [{"n": count}]


@pytest.mark.parametrize(
    "text", ["", "SELECT", "CREATE STREAM z (ts BIGINT)", "SELECT k FROM s; SELECT k FROM s"]
)
def test_what_is_no_query_is_refused_in_words(service: Running, text: str) -> None:
    assert not service.client.post("/check", json={"text": text}).json()["ok"]
    answer = service.client.post("/preview", json={"text": text})
    assert answer.status_code == 422
    assert answer.json()["diagnostics"]
