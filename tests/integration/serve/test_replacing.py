"""A query takes the place of another one: PUT, and `cqc register --replace`."""

from pathlib import Path

import pytest

from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.serve.running import running


def test_put_registers_replaces_and_leaves_alone() -> None:
    with running() as service:
        first = service.client.put("/queries/new", json={"text": "SELECT k FROM s", "owner": "ada"})
        assert first.status_code == 201
        again = service.client.put("/queries/new", json={"text": "SELECT k FROM s"})
        assert again.status_code == 200
        assert again.json()["id"] == first.json()["id"]  # nothing changed
        other = service.client.put("/queries/NEW", json={"text": "SELECT x FROM s"})
        assert other.status_code == 200
        assert other.json()["id"] != first.json()["id"]
        assert (other.json()["name"], other.json()["owner"]) == ("new", "ada")
        service.push("s", {"ts": 1, "k": 1, "x": 5.0})
        assert [row["row"] for _, row in service.watch(1, "/queries/new/results")] == [{"x": 5.0}]


def test_a_query_with_mistakes_replaces_nothing() -> None:
    with running() as service:
        before = service.client.get("/queries/big").json()["id"]
        answer = service.client.put("/queries/big", json={"text": "SELECT nothing FROM s"})
        assert answer.status_code == 422
        assert answer.json()["diagnostics"]
        assert service.client.get("/queries/big").json()["id"] == before


def test_a_query_for_which_the_past_has_too_much_replaces_nothing() -> None:
    with running(kept_rows=50) as service:
        service.push("s", *({"ts": 1, "k": 1, "x": 1.0} for _ in range(20)))
        service.push("r", *({"ts": 1, "k": 1} for _ in range(20)))
        text = "SELECT COUNT(*) AS n FROM s, r WHERE s.k = r.k MAXWINDOW 5 SEC BEGIN 0 END NOW"
        answer = service.client.put("/queries/total", json={"text": text})
        assert answer.status_code == 413
        assert "the new query" in answer.json()["error"]
        assert service.invoke("total")["rows"] == [{"n": 20, "x": 20.0}]


def test_a_replaced_query_is_the_new_one_after_a_restart(tmp_path: Path) -> None:
    with running(checkpoint=tmp_path / "c") as service:
        service.register("SELECT k FROM s WHERE x > 1", name="mine")
        new = service.client.put(
            "/queries/mine", json={"text": "SELECT x FROM s WHERE x > 2"}
        ).json()
    with running(checkpoint=tmp_path / "c") as service:
        found = service.client.get("/queries/mine").json()
        assert (found["id"], found["text"]) == (new["id"], new["text"])
        assert sorted(service.names()) == ["big", "mine", "total"]


def test_users_replace_their_own_queries_only() -> None:
    with running(tokens=Tokens("secret", {"ada": "a", "bo": "b"})) as service:
        client = service.client
        client.headers["authorization"] = "Bearer a"
        assert client.put("/queries/mine", json={"text": "SELECT k FROM s"}).status_code == 201
        assert (
            client.put("/queries/mine", json={"text": "SELECT x FROM s"}).json()["owner"] == "ada"
        )
        assert client.put("/queries/big", json={"text": "SELECT x FROM s"}).status_code == 403
        client.headers["authorization"] = "Bearer b"
        refused = client.put("/queries/mine", json={"text": "SELECT ts FROM s"})
        assert refused.status_code == 403
        assert "replace" in refused.json()["error"]


@pytest.mark.parametrize("text", ["CREATE QUERY named AS SELECT k FROM s", "SELECT k FROM s"])
def test_the_command_replaces(run_cqc, text: str) -> None:  # type: ignore[no-untyped-def]  # a fixture
    with running() as service:
        service.register("SELECT x FROM s", name="named")
        more = () if "CREATE" in text else ("--name", "named")
        done = run_cqc("register", text, "--replace", *more, "--service", service.address)
        assert done.returncode == 0, done.stderr
        assert service.client.get("/queries/named").json()["text"] == text
        nameless = run_cqc("register", "SELECT k FROM s", "--replace", "--service", service.address)
        assert nameless.returncode == 3
        assert "name" in nameless.stderr
