"""The client commands against a real service."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cqc.cli.main import run_command
from cqc.cli.service_connection import PLACE, Connection
from tests.integration.serve.running import Running, running

Cqc = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with running() as found:
        found.push("s", {"ts": 1, "k": 1, "x": 20.0, "name": "é"}, {"ts": 2, "k": 2, "x": None})
        yield found


@pytest.fixture
def cqc(
    service: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Cqc:
    """Run a command against the service: exit code, output, messages."""
    monkeypatch.setenv("CQC_SERVICE", service.address)
    monkeypatch.delenv("CQC_TOKEN", raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = run_command(list(arguments))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_register_invoke_and_unregister(cqc: Cqc) -> None:
    text = "SELECT name, x FROM s BEGIN 0 END NOW ORDER BY ts"
    code, output, _ = cqc("register", text, "--name", "names", "--owner", "me")
    assert (code, output) == (0, "registered names (cqc invoke names)\n")
    code, output, _ = cqc("invoke", "names")
    assert code == 0
    assert output.splitlines() == [
        "names at 2", "name     x", "----  ----", "é     20.0", "NULL  NULL",
    ]  # fmt: skip
    code, output, _ = cqc("invoke", "names", "--at", "1", "--format", "json")
    assert json.loads(output) == {"query": "names", "at": 1, "row": {"name": "é", "x": 20.0}}
    assert cqc("unregister", "names")[:2] == (0, "unregistered names\n")
    assert cqc("invoke", "names")[0] == 3


def test_a_query_that_delivers_by_itself_is_to_be_watched(cqc: Cqc) -> None:
    text = "SELECT COUNT(*) AS n FROM s BEGIN NOW - 1 SEC END NOW EVERY 1 SEC"
    assert cqc("register", text, "--name", "often")[1] == "registered often (cqc watch often)\n"
    assert cqc("register", "SELECT x FROM s", "--name", "each")[1].endswith("(cqc watch each)\n")


def test_a_query_comes_from_a_file_or_from_standard_input(
    cqc: Cqc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "query.cq").write_text("CREATE QUERY from_file AS SELECT k FROM s")
    assert "registered from_file" in cqc("register", f"@{tmp_path / 'query.cq'}")[1]
    monkeypatch.setattr("sys.stdin", io.StringIO("SELECT x FROM s"))
    made = json.loads(cqc("register", "-", "--name", "piped", "--format", "json")[1])
    assert made["name"] == "piped"
    assert cqc("register", "@nowhere.cq")[0] == 2


def test_queries_are_listed_as_a_table_or_as_json(cqc: Cqc) -> None:
    code, output, _ = cqc("queries")
    assert code == 0
    assert output.split()[:5] == ["name", "kind", "owner", "age", "results"]
    assert "program" in output
    lines = cqc("queries", "--format", "json")[1].splitlines()
    assert "big" in [json.loads(line)["name"] for line in lines]


@pytest.mark.parametrize("command", ["invoke", "unregister", "watch"])
def test_a_name_that_is_no_text_is_an_unknown_query(command: str, cqc: Cqc) -> None:
    code, _, messages = cqc(command, "caf\udce9")  # as Python gives bytes that are no UTF-8
    assert code == 3
    assert messages.startswith("error: there is no query caf")


@pytest.mark.parametrize("command", ["invoke", "unregister", "watch"])
def test_a_misspelt_name_gets_the_one_that_was_meant(command: str, cqc: Cqc) -> None:
    code, _, messages = cqc(command, "toatl")
    assert code == 3
    assert "there is no query toatl (did you mean total?)" in messages


def test_watch_shows_what_is_kept_first(cqc: Cqc) -> None:
    code, output, _ = cqc("watch", "big", "--limit", "1")
    assert (code, output) == (0, "1  big  k=1  x=20.0\n")
    code, output, _ = cqc("watch", "--limit", "1", "--format", "json")
    assert json.loads(output)["query"] == "big"


def test_a_name_that_is_taken_is_refused_with_what_to_do(cqc: Cqc) -> None:
    cqc("register", "SELECT k FROM s", "--name", "slow")
    code, _, messages = cqc("register", "SELECT x FROM s", "--name", "slow")
    assert code == 3
    assert "there is already a query slow" in messages
    assert "--name" in messages
    assert "cqc unregister slow" in messages
    messages = cqc("register", "CREATE QUERY slow AS SELECT x FROM s")[2]
    assert "there is already a query slow" in messages
    assert cqc("unregister", "slow")[0] == 0


def test_a_diagnostic_is_shown_with_its_detail(cqc: Cqc) -> None:
    code, _, messages = cqc("register", "SELECT k\nFROM nowhere")
    assert code == 1
    assert " --> <query>:2:6" in messages
    assert " 2 | FROM nowhere\n   |      ^^^^^^^\n" in messages
    assert "= detail: Declared are" in messages


def test_a_query_with_errors_shows_them_and_exits_with_1(cqc: Cqc) -> None:
    code, output, messages = cqc("register", "SELECT kk FROM s")
    assert (code, output) == (1, "")
    assert messages.splitlines() == [
        "error[CQ031]: s has no column kk",
        "  --> <query>:1:8",
        "   |",
        " 1 | SELECT kk FROM s",
        "   |        ^^",
        "   = detail: Columns of s: ts, k, x, name.",
        "   = hint: Did you mean `k`?",
    ]


@pytest.mark.parametrize(
    "command", [("queries",), ("invoke", "x"), ("watch",), ("unregister", "x")]
)
def test_no_service_is_one_clear_sentence(command: tuple[str, ...], cqc: Cqc) -> None:
    code, _, messages = cqc(*command, "--service", "http://127.0.0.1:1")
    assert code == 3
    assert messages.startswith("error: no service at http://127.0.0.1:1")
    assert len(messages.splitlines()) == 1


def test_an_address_that_is_none_is_wrong_usage(cqc: Cqc) -> None:
    assert cqc("queries", "--service", "ftp://x")[0] == 2


def test_the_client_shows_its_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "token").write_text("abc\n")
    with running(token="abc") as guarded:
        arguments = ["queries", "--service", guarded.address]
        assert run_command([*arguments, "--token-file", str(tmp_path / "token")]) == 0
        assert run_command(arguments) == 3
    assert "token is needed" in capsys.readouterr().err


def test_a_watcher_of_new_results_misses_nothing_when_the_service_comes_back(
    tmp_path: Path,
) -> None:
    """It loses its connection before the first result, and what happens meanwhile is there when it returns."""
    with running(checkpoint=tmp_path) as first:
        connection = Connection(first.address, None)
        events = connection.events("/results?since=now", None)
        place = next(events)
        first.push("s", {"ts": 1, "k": 1, "x": 20.0})
        events.close()
    with running(checkpoint=tmp_path) as second:
        events = Connection(second.address, None).events("/results?since=now", place.id)
        assert next(events).kind == PLACE
        assert json.loads(next(events).data)["row"] == {"k": 1, "x": 20.0}
        events.close()
