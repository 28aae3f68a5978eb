"""What a server needs before it serves: a place to listen, room for connections, names, and a certificate that can be used."""

from __future__ import annotations

import resource
import socket
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.serve.http.server import ServeOptions, ServiceServer, _own_names, _room_for
from cqc.runtime.serve.http.tokens import Tokens

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = cqc.compile("CREATE STREAM s (ts BIGINT);")


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(RunError, match=f"cannot listen on 127.0.0.1 port {port}: "):
            ServiceServer(PROGRAM, ServeOptions(port=port), lambda problem: None)


def test_a_certificate_that_is_none_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nothing of the kind")
    options = ServeOptions(port=0, certificate=str(tmp_path / "cert.pem"))
    with pytest.raises(RunError, match=r"no certificate and key in .*cert\.pem: "):
        ServiceServer(PROGRAM, options, lambda problem: None)


def test_two_folders_of_one_name_are_one_sentence(tmp_path: Path) -> None:
    folders = [tmp_path / "a" / "queries", tmp_path / "b" / "queries"]
    for folder in folders:
        folder.mkdir(parents=True)
    options = ServeOptions(port=0, queries=tuple(map(str, folders)))
    with pytest.raises(RunError, match="2 folders of queries are called queries"):
        ServiceServer(PROGRAM, options, lambda problem: None)


def test_there_is_room_for_as_many_connections_as_the_system_has_files(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = {"now": (256, 512)}
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits["now"])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: limits.update(now=both))
    few = _room_for(4_000)
    assert limits["now"] == (512, 512)
    assert 0 < few < 512
    assert _room_for(10) == 10


def test_a_service_without_tokens_has_only_the_names_that_were_given() -> None:
    assert _own_names(ServeOptions(hosts=("a.example",))) == ["a.example"]
    named = _own_names(
        ServeOptions(host="b.example", hosts=("a.example",), tokens=Tokens("secret"))
    )
    assert named[:2] == ["a.example", "b.example"]
