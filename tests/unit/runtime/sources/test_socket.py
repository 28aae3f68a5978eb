"""Streams from a socket: lines are kept until they count, and the last ones are read when the connection closes."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import cqc
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.sources import spooled
from cqc.runtime.sources.socket import SocketFeed
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


COLUMNS = "ts BIGINT, x BIGINT"


def found(out: Path) -> list[int]:
    return sorted(json.loads(line)["row"]["x"] for line in out.read_text().splitlines())


def test_a_socket_is_read_until_it_is_closed(tmp_path: Path) -> None:
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"1,1\n2,")
                connection.sendall(b"2\n3,3")

        other_side = threading.Thread(target=serve)
        other_side.start()
        where = f"format = 'socket', host = 'localhost', port = '{port}', value = 'csv'"
        text = f"CREATE STREAM s ({COLUMNS}) WITH ({where}); SELECT x FROM s;"
        run = BatchRun(cqc.compile(text), RunOptions(out=str(tmp_path / "out")))
        run.to_end()
        run.close()
        other_side.join(PATIENCE_S)
    assert found(tmp_path / "out") == [1, 2, 3]


def test_lines_of_a_socket_that_count_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled, "FILE_BYTES", 100)
    options = RunOptions(
        out=str(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"), rows_per_batch=7
    )
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            for life in range(2):
                connection, _ = server.accept()
                with connection:
                    for at in range(100):
                        connection.sendall(f"{100 * life + at},{100 * life + at}\n".encode())
                    connection.sendall(b"1")  # an end in the middle of a row

        other_side = threading.Thread(target=serve)
        other_side.start()
        where = f"format = 'socket', host = 'localhost', port = '{port}', value = 'csv'"
        declared = f"CREATE STREAM s ({COLUMNS}) WITH ({where});"
        text = f"{declared} SELECT x FROM s;"
        spool = tmp_path / "checkpoint" / "spool" / "s"
        for _ in range(2):
            run = DurableRun(cqc.compile(text), options)
            run.to_end()
            run.close()
            assert len(list(spool.iterdir())) == 1
            (last,) = spool.iterdir()
            with last.open("ab") as file:
                file.write(b"half a li")  # as a kill would leave it
        other_side.join(60)
    assert found(tmp_path / "out") == list(range(200))


def test_the_last_lines_of_a_socket_may_be_in_a_file_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled, "FILE_BYTES", 1)  # a file for each time that lines come
    with socket.create_server(("localhost", 0)) as server:
        port = server.getsockname()[1]
        where = f"format = 'socket', host = 'localhost', port = '{port}'"
        text = f"CREATE STREAM s ({COLUMNS}) WITH ({where})"
        relation = cqc.compile(text).catalog.relations["s"]
        feed = SocketFeed("s", relation, tmp_path, done={})
        connection, _ = server.accept()
        with connection:
            connection.sendall(b'{"ts": 1, "x": 1}\n')
            wait_until(lambda: len(list((tmp_path / "s").iterdir())) == 1)
            feed.look()
            assert feed.take(1) is not None
            connection.sendall(b'{"ts": 2, "x": 2}\n')
        wait_until(lambda: not feed._receiver.is_alive())
        assert feed.take(1) is not None
        assert not feed.ended
        assert feed.take(1) is None
        assert feed.ended
        feed.close()
