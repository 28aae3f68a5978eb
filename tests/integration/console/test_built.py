"""What the service serves was built from the sources that are there, and goes out with a strict policy."""

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cqc.runtime.serve.console import CONSOLE, POLICY
from cqc.runtime.serve.http.tokens import Tokens
from tests.integration.serve.running import running

if TYPE_CHECKING:
    import httpx

ROOT = Path(__file__).parents[3]
SOURCES = ROOT / "console"
BUILT = ROOT / "runtime" / "serve" / "console"


def hash_of_sources() -> str:
    files = [file for file in (SOURCES / "src").rglob("*") if file.is_file()]
    names = ("index.html", "package.json", "package-lock.json", "tsconfig.json", "vite.config.js")
    files += [SOURCES / name for name in names]
    found = sha256()
    for file in sorted(files, key=lambda file: file.relative_to(SOURCES).as_posix()):
        found.update(file.relative_to(SOURCES).as_posix().encode() + b"\0")
        found.update(file.read_bytes() + b"\0")
    return found.hexdigest()


def test_the_built_files_are_those_of_the_sources() -> None:
    built = (BUILT / "source.sha256").read_text(encoding="utf-8").strip()
    assert built == hash_of_sources(), "console/ has changed since it was built: make console"


def test_nothing_that_is_built_names_another_host() -> None:
    page = (BUILT / "index.html").read_text(encoding="utf-8")
    assert "http:" not in page
    assert "https:" not in page
    assert "style=" not in page


def test_the_lock_names_no_registry_but_the_public_one() -> None:
    lock = (SOURCES / "package-lock.json").read_text(encoding="utf-8")
    hosts = {line.split("/")[2] for line in lock.splitlines() if '"resolved"' in line}
    assert hosts <= {"registry.npmjs.org"}


def test_every_file_comes_with_the_policy_and_without_a_token() -> None:
    with running(tokens=Tokens("secret")) as service:
        for path in CONSOLE.paths:
            answer = service.client.get(path)
            assert answer.status_code == 200, path
            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            again = service.client.get(path, headers={"if-none-match": answer.headers["etag"]})
            assert again.status_code == 304
        assert service.client.get("/overview").status_code == 401
        assert service.client.get("/assets/../registry.py").status_code in (401, 404)


def test_a_link_elsewhere_may_lead_to_the_console_and_nowhere_else() -> None:
    linked = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    with running() as service:
        assert service.client.get("/", headers=linked).status_code == 200
        assert service.client.get("/queries", headers=linked).status_code == 403
        fetched = {**linked, "sec-fetch-mode": "cors"}
        assert service.client.get("/", headers=fetched).status_code == 403


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_files_are_packed_where_that_is_understood(encoding: str) -> None:
    with running() as service:
        answer: httpx.Response = service.client.get("/", headers={"accept-encoding": encoding})
        assert answer.headers.get("content-encoding", "identity") == encoding
        assert '<div id="app">' in answer.text
