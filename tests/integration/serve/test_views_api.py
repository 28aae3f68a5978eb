"""What one can see of a service over HTTP: pages of queries, the overview, the graph, what a query can speak of."""

from collections.abc import Iterator

import pytest

from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.serve.running import Running, running


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        rows = [{"ts": n, "k": n % 7, "x": float(n), "name": "a"} for n in range(60)]
        found.push("s", *rows, {"ts": "no time", "k": 1, "x": 1.0, "name": "a"})
        yield found


def test_all_queries_are_listed_as_before(service: Running) -> None:
    answer = service.client.get("/queries").json()
    assert [each["name"] for each in answer["queries"]] == ["big", "total"]
    assert answer["total"] == answer["matching"] == 2


def test_a_page_is_searched_sorted_and_cut_by_the_service(service: Running) -> None:
    parameters = {
        "search": "select",
        "sort": "name",
        "descending": "true",
        "limit": 1,
        "brief": True,
    }
    answer = service.client.get("/queries", params=parameters).json()
    assert [each["name"] for each in answer["queries"]] == ["total"]
    assert answer["matching"] == 2


@pytest.mark.parametrize(
    "wrong", [{"sort": "colour"}, {"kind": "odd"}, {"limit": -1}, {"limit": 10**9}, {"offset": "x"}]
)
def test_what_cannot_be_asked_is_refused_in_words(service: Running, wrong: dict[str, str]) -> None:
    answer = service.client.get("/queries", params=wrong)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_a_query_has_its_plan_in_words_and_its_results_over_time(service: Running) -> None:
    answer = service.client.get("/queries/big").json()
    assert {"what": "attribute", "text": "x > 10.0"} in answer["plan"]
    assert sum(answer["results_over_time"]["counts"]) == answer["results"] == 49
    assert answer["shared_with"] == 1
    assert answer["operator"] == "filter:s"


def test_the_overview_has_rates_streams_and_reasons(service: Running) -> None:
    answer = service.client.get("/overview", params={"history": True}).json()
    assert answer["queries"] == {"push": 1, "pull": 1, "every": 0, "stopped": 0}
    stream = answer["streams"][0]
    assert (stream["name"], stream["read"], stream["rejected"]) == ("s", 61, 1)
    assert sum(stream["reasons"].values()) == 1
    assert stream["watermark"] == 59
    assert set(answer["history"]) == {"at", "tuples", "results", "load", "memory"}
    assert answer["role"] == "admin"


def test_the_graph_has_counts_and_the_path_of_a_query(service: Running) -> None:
    answer = service.client.get("/graph", params={"query": "big"}).json()
    counts = {node["id"]: node["counts"] for node in answer["nodes"]}
    assert counts["source:s"]["out"] == 61
    assert counts["filter:s"]["in"] == 60
    assert [node["id"] for node in answer["path"]["nodes"]] == [
        "source:s", "filter:s", "deliver:query:big",
    ]  # fmt: skip
    assert service.client.get("/graph", params={"query": "none"}).status_code == 404


def test_the_schema_names_streams_functions_and_words(service: Running) -> None:
    answer = service.client.get("/schema").json()
    assert [each["name"] for each in answer["relations"]] == ["s", "r"]
    assert "sqrt" in {each["name"] for each in answer["functions"]}
    assert "MAXWINDOW" in answer["keywords"]


def test_a_reader_may_look_and_try_and_nothing_else() -> None:
    with running(tokens=Tokens("secret", {}, "looking")) as found:
        found.client.headers["authorization"] = "Bearer looking"
        assert found.client.get("/overview").json()["role"] == "reader"
        assert found.client.post("/check", json={"text": "SELECT k FROM s"}).json()["ok"]
        assert found.client.post("/preview", json={"text": "SELECT k FROM s"}).status_code == 200
        put = found.client.put("/queries/big", json={"text": "SELECT k FROM s"})
        assert put.status_code == 403
