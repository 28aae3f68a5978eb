"""The command `cqc serve` as a process: it starts, is killed, starts again, and stops cleanly."""

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.serve.process import ROOT, first_result, serving
from tests.support.waiting import PATIENCE_S, wait_until

PROGRAM = """
CREATE STREAM s (ts BIGINT, x BIGINT) WITH (path = 'in');
CREATE QUERY big AS SELECT x FROM s WHERE x > 10;
"""


def test_a_killed_service_comes_back_with_its_queries_history_and_results(tmp_path: Path) -> None:
    program = tmp_path / "program.cq"
    program.write_text(PROGRAM)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ts,x\n1,20\n2,5\n")
    arguments = (program, "--checkpoint", tmp_path / "state")
    with serving(*arguments) as (process, client):
        text = "SELECT COUNT(*) AS n FROM s BEGIN 0 END NOW"
        made = client.post("/queries", json={"text": text, "name": "all"}).json()
        number, result = first_result(client)
        assert result["row"] == {"x": 20}
        client.post("/streams/s", json=[{"ts": 3, "x": 30}])
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    (tmp_path / "in" / "2.csv").write_text("ts,x\n4,40\n")
    with serving(*arguments) as (process, client):
        assert client.get("/queries/all").json()["id"] == made["id"]
        next_number, result = first_result(client, number)
        assert result["row"] == {"x": 30}
        assert first_result(client, next_number)[1]["row"] == {"x": 40}
        answer = client.get("/queries/all/invoke").json()
        assert (answer["at"], answer["rows"]) == (4, [{"n": 4}])
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0


def test_a_bad_program_file_at_a_restart_leaves_the_queries_as_they_were(tmp_path: Path) -> None:
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "a.cq").write_text(PROGRAM.replace("'in'", "'../in'"))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("ts,x\n1,20\n")
    arguments = (folder, "--checkpoint", tmp_path / "state")
    with serving(*arguments) as (process, client):
        number, _ = first_result(client)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    (folder / "b.cq").write_text("CREATE QUERY half AS SELECT")
    (tmp_path / "in" / "2.csv").write_text("ts,x\n2,30\n")
    with serving(*arguments) as (process, client):
        assert [each["name"] for each in client.get("/queries").json()["queries"]] == ["big"]
        assert first_result(client, number)[1]["row"] == {"x": 30}


def test_ctrl_c_is_a_clean_stop(tmp_path: Path) -> None:
    program = tmp_path / "program.cq"
    program.write_text("CREATE STREAM s (ts BIGINT); SELECT ts FROM s")
    with serving(program) as (process, client):
        assert client.get("/health").json()["status"] == "ok"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE_S) == 130


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
def test_a_second_stop_does_not_wait_for_a_request(stop: signal.Signals, tmp_path: Path) -> None:
    program = tmp_path / "program.cq"
    program.write_text("CREATE STREAM s (ts BIGINT); SELECT ts FROM s")
    with serving(program) as (process, client):
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=PATIENCE_S) as half:
            half.sendall(b"POST /streams/s HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n")
            half.sendall(b"Content-Type: application/json\r\n\r\n[{")
            assert client.get("/health").is_success  # so what was sent before has been heard
            process.send_signal(stop)
            wait_until(lambda: not listens(address), "it did not stop")
            process.send_signal(stop)
            assert process.wait(timeout=PATIENCE_S) == 130


def listens(address: tuple[str, int | None]) -> bool:
    try:
        socket.create_connection(address, timeout=PATIENCE_S).close()
    except ConnectionRefusedError:
        return False
    return True


@pytest.mark.parametrize(
    ("text", "code"),
    [("CREATE STREAM s (ts BIGINT) WITH (path = 'nowhere.csv')", 3), ("SELECT", 1)],
)
def test_a_service_that_cannot_start_says_why(text: str, code: int, tmp_path: Path) -> None:
    program = tmp_path / "program.cq"
    program.write_text(text)
    finished = subprocess.run(
        [sys.executable, "-m", "cqc.cli.main", "serve", str(program), "--port", "0"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=ROOT,
    )
    assert finished.returncode == code
    assert "Traceback" not in finished.stderr
    assert "error" in finished.stderr
