"""What an admin, users and readers may do, and that no token shows anywhere."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cqc.cli.commands.serve import serve_command
from cqc.cli.main import run_command
from cqc.runtime.serve.http.tokens import Role, TokenBook, Tokens
from tests.integration.serve.process import serving
from tests.integration.serve.running import Running, running

TOKENS = Tokens("admin-token", {"ada": "adas-token", "bo": "bos-token"}, "readers-token")
ADMIN, ADA, BO, READER = (
    {"authorization": f"Bearer {token}"}
    for token in ("admin-token", "adas-token", "bos-token", "readers-token")
)
TEXT = {"text": "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW"}
Cqc = Callable[..., tuple[int, str, str]]


@pytest.fixture
def service() -> Iterator[Running]:
    with running(tokens=TOKENS) as found:
        yield found


def register(service: Running, headers: dict[str, str], name: str, **more: str) -> int:
    body = {**TEXT, "name": name, **more}
    return service.client.post("/queries", json=body, headers=headers).status_code


def test_a_user_registers_pushes_and_removes_what_is_theirs(service: Running) -> None:
    client = service.client
    assert register(service, ADA, "hers") == 201
    assert client.get("/queries/hers", headers=BO).json()["owner"] == "ada"
    assert client.post("/streams/s", json=[{"ts": 1}], headers=ADA).status_code == 200
    assert client.get("/queries/hers/invoke", headers=BO).json()["rows"] == [{"n": 1}]
    refused = client.delete("/queries/hers", headers=BO)
    assert refused.status_code == 403
    assert refused.json()["error"] == "query hers is not bo's: its owner or an admin can remove it"
    assert client.delete("/queries/hers", headers=ADA).status_code == 204
    assert client.delete("/queries/hers", headers=ADA).status_code == 404


def test_a_user_cannot_speak_for_another_or_touch_the_programs_queries(service: Running) -> None:
    assert register(service, ADA, "x", owner="bo") == 403
    assert register(service, ADA, "x", owner="ada") == 201
    assert service.client.delete("/queries/big", headers=ADA).status_code == 403


def test_a_user_called_program_does_not_own_the_programs_queries() -> None:
    with running(tokens=Tokens("a", {"program": "p"})) as service:
        headers = {"authorization": "Bearer p"}
        assert service.client.delete("/queries/big", headers=headers).status_code == 403
        assert register(service, headers, "own") == 201
        assert service.client.delete("/queries/own", headers=headers).status_code == 204


def test_an_admin_registers_for_others_and_removes_everything(service: Running) -> None:
    assert register(service, ADMIN, "theirs", owner="bo") == 201
    assert register(service, ADA, "hers") == 201
    assert service.client.delete("/queries/theirs", headers=BO).status_code == 204
    assert service.client.delete("/queries/hers", headers=ADMIN).status_code == 204
    assert service.client.delete("/queries/big", headers=ADMIN).status_code == 204


def test_a_reader_looks_and_changes_nothing(service: Running) -> None:
    client = service.client
    for path in (
        "/queries",
        "/queries/total",
        "/queries/total/invoke",
        "/metrics",
        "/openapi.json",
    ):
        assert client.get(path, headers=READER).status_code == 200
    assert client.post("/queries/total/invoke", headers=READER).status_code == 200
    with client.stream("GET", "/results", headers=READER) as answer:
        assert answer.status_code == 200
    assert register(service, READER, "x") == 403
    for path in ("/streams/s", "/streams/s/invoke", "/streams/..%2Fqueries%2Ftotal%2Finvoke"):
        assert client.post(path, json=[{"ts": 1}], headers=READER).status_code == 403
    for path in ("/queries/total", "/queries/total/invoke"):
        assert client.delete(path, headers=READER).status_code in (403, 404)
    assert client.get("/queries", headers=READER).json()["queries"][1]["name"] == "total"


def test_a_query_whose_name_ends_like_a_question_is_safe_from_readers(service: Running) -> None:
    assert register(service, ADMIN, "x/invoke") == 201
    assert service.client.delete("/queries/x%2Finvoke", headers=READER).status_code == 403
    listed = service.client.get("/queries", headers=READER).json()["queries"]
    assert "x/invoke" in [each["name"] for each in listed]
    assert service.client.delete("/queries/x%2Finvoke", headers=ADMIN).status_code == 204


def test_owners_are_known_after_a_restart(tmp_path: Path) -> None:
    with running(tokens=TOKENS, checkpoint=tmp_path) as first:
        assert register(first, ADA, "hers") == 201
    with running(tokens=TOKENS, checkpoint=tmp_path) as second:
        assert second.client.delete("/queries/hers", headers=BO).status_code == 403
        assert second.client.delete("/queries/hers", headers=ADA).status_code == 204


def test_every_token_is_compared_to_the_end() -> None:
    book = TokenBook(TOKENS)
    found = [book.caller_of(f"Bearer {each}".encode()) for each in ("admin-token", "bos-token")]
    assert [(each.role, each.name) for each in found if each is not None] == [
        (Role.ADMIN, None),
        (Role.USER, "bo"),
    ]
    for wrong in (
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer admin-toke",
        b"Basic admin-token",
        b"admin-token",
    ):
        assert book.caller_of(wrong) is None
    assert not TokenBook(Tokens())
    assert "token" not in repr(TOKENS)


@pytest.mark.parametrize(
    ("users", "said"),
    [
        ("ada", "entry 1 is not NAME=TOKEN"),
        ("ada=x =hidden", "entry 2 is not NAME=TOKEN"),
        ("ada=hidden ada=other", "entry 2 has the name of one before"),
        ("ada=", "entry 1: the token must be printable"),
        ("ada=admin-token", "two of the tokens are the same"),
        ("ada=hidden\nbo=hidden", "two of the tokens are the same"),
    ],
)
def test_tokens_that_are_none_are_told_without_showing_them(
    users: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "admin").write_text("admin-token")
    (tmp_path / "users").write_text(users)
    arguments = ["--token-file", str(tmp_path / "admin"), "--user-tokens", str(tmp_path / "users")]
    finished = CliRunner().invoke(serve_command, ["nowhere.cq", *arguments])
    assert finished.exit_code == 2
    assert said in finished.output
    assert "hidden" not in finished.output
    assert "admin-token" not in finished.output


def test_the_command_takes_tokens_from_files_and_shows_none(tmp_path: Path) -> None:
    (tmp_path / "p.cq").write_text("CREATE STREAM s (ts BIGINT);")
    secrets = {
        "admin": "admin-token",
        "users": "ada=adas-token\nbo=bos-token\n",
        "reader": "r-token",
    }
    for name, text in secrets.items():
        (tmp_path / name).write_text(text)
    with serving(
        tmp_path / "p.cq",
        *("--token-file", tmp_path / "admin", "--user-tokens", tmp_path / "users"),
        *("--read-token-file", tmp_path / "reader"),
    ) as (process, client):
        shown = Path(f"/proc/{process.pid}/cmdline").read_text()
        assert "-token\0" not in shown.replace("--", "")
        body = {"text": "SELECT ts FROM s", "name": "hers"}
        answer = client.post("/queries", json=body, headers=ADA)
        assert (answer.status_code, answer.json()["owner"]) == (201, "ada")
        reader = {"authorization": "Bearer r-token"}
        assert client.post("/queries", json=body, headers=reader).status_code == 403
        assert client.get("/queries").status_code == 401
        refused = client.get("/queries", headers={"authorization": "Bearer wrong-token"})
        assert "wrong-token" not in refused.text


def test_the_client_shows_owners_and_is_told_what_its_token_may_not(
    service: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setenv("CQC_SERVICE", service.address)
    monkeypatch.setenv("CQC_TOKEN", "adas-token")
    assert run_command(["register", "SELECT k FROM s", "--name", "hers"]) == 0
    assert run_command(["queries"]) == 0
    listed = capsys.readouterr().out
    assert next(line for line in listed.splitlines() if line.startswith("hers")).split()[2] == "ada"
    monkeypatch.setenv("CQC_TOKEN", "readers-token")
    assert run_command(["unregister", "hers"]) == 3
    assert "may only look" in capsys.readouterr().err
