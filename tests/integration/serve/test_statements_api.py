"""POST /execute: DROP, SHOW, DESCRIBE and CREATE QUERY as statements of the service."""

from __future__ import annotations

from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.serve.running import running


def test_statements_tell_and_change() -> None:
    with running() as service:
        made = service.client.post(
            "/execute", json={"text": "CREATE QUERY mine AS SELECT k FROM s; SHOW QUERIES"}
        )
        assert made.status_code == 200
        told = made.json()
        assert told["columns"] == ["name", "kind", "text"]
        assert ["mine", "push", "CREATE QUERY mine AS SELECT k FROM s"] in told["rows"]
        described = service.client.post("/execute", json={"text": "DESCRIBE s"}).json()
        assert described["rows"][0][:2] == ["ts", "BIGINT"]
        assert service.client.post("/execute", json={"text": "DROP QUERY mine"}).json() == {
            "statement": "DROP QUERY mine"
        }
        assert "mine" not in service.names()


def test_what_cannot_be_done_is_said() -> None:
    with running() as service:
        post = service.client.post
        assert post("/execute", json={"text": "DROP QUERY nobody"}).status_code == 404
        assert post("/execute", json={"text": "DROP VIEW nobody"}).status_code == 409
        wrong = post("/execute", json={"text": "SHOW nothing"})
        assert wrong.status_code == 422
        assert wrong.json()["diagnostics"]
        refused = post("/execute", json={"text": "CREATE STREAM z (ts BIGINT)"})
        assert refused.status_code == 422
        assert "CREATE STREAM z belongs to the program" in refused.json()["error"]


def test_users_drop_their_own_queries_only() -> None:
    with running(tokens=Tokens("secret", {"ada": "a"})) as service:
        service.client.headers["authorization"] = "Bearer a"
        refused = service.client.post("/execute", json={"text": "DROP QUERY big"})
        assert refused.status_code == 403


def test_a_view_goes_when_nothing_reads_it() -> None:
    program = (
        "CREATE STREAM s (ts BIGINT, k BIGINT); CREATE VIEW big AS SELECT ts, k FROM s WHERE k > 9;"
        "CREATE QUERY q AS SELECT k FROM s WHERE NOT EXISTS (SELECT 1 FROM big b WHERE b.k = s.k WINDOW b.ts = s.ts);"
    )
    with running(program) as service:
        refused = service.client.post("/execute", json={"text": "DROP VIEW big"})
        assert refused.status_code == 409
        assert "is read by query q" in refused.json()["error"]
        done = service.client.post("/execute", json={"text": "DROP QUERY q; DROP VIEW big"})
        assert done.status_code == 200
        wrong = service.client.post("/queries", json={"text": "SELECT k FROM big"})
        assert wrong.status_code == 422
