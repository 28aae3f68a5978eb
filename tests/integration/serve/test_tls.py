"""The service over TLS, with a certificate made for the test, and a client that trusts it or does not."""

import http.server
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import cqc
from cqc.cli.main import run_command
from cqc.runtime.errors import RunError
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer
from tests.integration.serve.process import serving
from tests.support.waiting import PATIENCE_S

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="there is no openssl to make a certificate with"
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=cqc test", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True, timeout=PATIENCE_S,
    )  # fmt: skip
    return certificate, key


@pytest.fixture(scope="module")
def service(
    files: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple["subprocess.Popen[str]", httpx.Client]]:
    program = tmp_path_factory.mktemp("program") / "p.cq"
    program.write_text("CREATE STREAM s (ts BIGINT); CREATE QUERY q AS SELECT ts FROM s;")
    certificate, key = files
    trusting = ssl.create_default_context(cafile=certificate)
    with serving(program, "--cert", certificate, "--key", key, verify=trusting) as found:
        yield found


def test_requests_results_and_the_client_work_over_tls(
    service: tuple["subprocess.Popen[str]", httpx.Client],
    files: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    client = service[1]
    address = str(client.base_url)
    assert address.startswith("https://")
    assert client.post("/streams/s", json=[{"ts": 1}]).json()["accepted"] == 1
    arguments = ["--service", address, "--cacert", str(files[0])]
    assert run_command(["watch", "q", "--limit", "1", *arguments]) == 0
    assert capsys.readouterr().out == "1  q  ts=1\n"
    assert run_command(["queries", *arguments]) == 0


def test_a_certificate_that_is_not_trusted_is_one_sentence(
    service: tuple["subprocess.Popen[str]", httpx.Client],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CQC_CACERT", raising=False)
    assert run_command(["queries", "--service", str(service[1].base_url)]) == 3
    said = capsys.readouterr().err
    assert said.startswith("error: the certificate of https://127.0.0.1")
    assert "--cacert" in said
    assert len(said.splitlines()) == 1


def test_a_file_without_certificates_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "none.pem").write_text("nothing")
    for file in (tmp_path / "none.pem", tmp_path / "nowhere"):
        arguments = ["queries", "--service", "https://127.0.0.1:1", "--cacert", str(file)]
        assert run_command(arguments) == 2
    assert "cannot read a certificate" in capsys.readouterr().err


def test_who_does_not_speak_tls_is_hung_up_on_without_a_word(
    service: tuple["subprocess.Popen[str]", httpx.Client],
) -> None:
    process, client = service
    host, port = client.base_url.host, client.base_url.port
    assert port is not None
    for greeting in (b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n", b"\x16\x03\x01" * 50, b""):
        with socket.create_connection((host, port), timeout=PATIENCE_S) as connection:
            connection.sendall(greeting)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1000):
                pass
    assert client.get("/health").status_code == 200
    process.terminate()
    assert process.wait(PATIENCE_S) == 0
    assert process.stderr is not None
    assert process.stderr.read() == "stopped\n"


@pytest.mark.parametrize("wrong", ["nowhere", "empty", "key only", "other key", "needs a password"])
def test_a_certificate_that_cannot_be_used_is_one_sentence_at_the_start(
    wrong: str, files: tuple[Path, Path], tmp_path: Path
) -> None:
    certificate, key = map(str, files)
    if wrong == "nowhere":
        certificate = str(tmp_path / "nowhere.pem")
    elif wrong == "empty":
        (tmp_path / "empty.pem").write_text("")
        certificate = str(tmp_path / "empty.pem")
    elif wrong == "key only":
        certificate = key
    else:
        more = ["-aes256", "-pass", "pass:x"] if wrong == "needs a password" else []
        made = tmp_path / "other.pem"
        subprocess.run(
            ["openssl", "genpkey", "-algorithm", "RSA", *more, "-out", made],
            check=True, capture_output=True, timeout=PATIENCE_S,
        )  # fmt: skip
        key = str(made)
    options = ServeOptions(port=0, certificate=certificate, key=key)
    with pytest.raises(RunError) as error:
        ServiceServer(cqc.compile("CREATE STREAM s (ts BIGINT)"), options, print)
    assert str(error.value).startswith(f"no certificate and key in {certificate}")


def test_the_client_follows_nobody_elsewhere_with_its_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Elsewhere(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(302)
            self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/stolen")  # type: ignore[attr-defined]
            self.end_headers()

        def log_message(self, *given: object) -> None:
            del given

    with http.server.HTTPServer(("127.0.0.1", 0), Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            monkeypatch.setenv("CQC_TOKEN", "s3cret")
            address = f"http://127.0.0.1:{server.server_port}"
            assert run_command(["queries", "--service", address]) == 3
        finally:
            server.shutdown()
            thread.join(PATIENCE_S)
    assert asked == ["/queries"]
    assert "s3cret" not in capsys.readouterr().err
