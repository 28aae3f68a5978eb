"""Kafka, sockets and the rate source: what comes by a connection is read like a file."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from cqc.runtime.sources import socket as socket_source
from cqc.runtime.sources.socket import SocketFeed
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

kafka = pytest.importorskip("confluent_kafka", reason="the extra `kafka` is not installed")

COLUMNS = "ts BIGINT, x BIGINT"


class Broker:
    """A broker inside the client library that speaks Kafka's protocol over TCP."""

    def __init__(self) -> None:
        self.producer = kafka.Producer(
            {"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0}
        )
        (only,) = self.producer.list_topics(timeout=PATIENCE_S).brokers.values()
        self.servers = f"{only.host}:{only.port}"

    def put(self, topic: str, partition: int, *values: str | None) -> None:
        for value in values:
            self.producer.produce(topic, value, partition=partition)
        assert self.producer.flush(PATIENCE_S) == 0


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    return Broker()


def program(broker: Broker, topic: str, value: str = "json") -> cqc.Program:
    where = f"format = 'kafka', servers = '{broker.servers}', topic = '{topic}', value = '{value}'"
    return cqc.compile(f"CREATE STREAM s ({COLUMNS}) WITH ({where}); SELECT x FROM s;")


def found(out: Path) -> list[int]:
    return sorted(json.loads(line)["row"]["x"] for line in out.read_text().splitlines())


def test_a_topic_is_read_to_its_end(broker: Broker, tmp_path: Path) -> None:
    broker.put("ends", 0, '{"ts": 1, "x": 1}', "no json", None)
    broker.put("ends", 1, '{"ts": 1,\n "x": 2}')
    run = BatchRun(program(broker, "ends"), RunOptions(out=str(tmp_path / "out")))
    run.to_end()
    summary = run.close()
    assert found(tmp_path / "out") == [1, 2]
    assert (summary.streams["s"].read, summary.streams["s"].rejected) == (4, 2)


def test_values_may_be_csv_fields_in_the_declared_order(broker: Broker, tmp_path: Path) -> None:
    broker.put("fields", 0, "1,1", "2,two", "3,3")
    run = BatchRun(program(broker, "fields", "csv"), RunOptions(out=str(tmp_path / "out")))
    run.to_end()
    assert run.close().streams["s"].rejected == 1
    assert found(tmp_path / "out") == [1, 3]


def test_a_checkpoint_remembers_the_offsets(broker: Broker, tmp_path: Path) -> None:
    broker.put("again", 0, *(f'{{"ts": {at}, "x": {at}}}' for at in range(5)))
    options = RunOptions(
        out=str(tmp_path / "out"), checkpoint=str(tmp_path / "checkpoint"), rows_per_batch=2
    )
    run = DurableRun(program(broker, "again"), options)
    run.read_tables()
    run.process(run.next_ranges())
    run.close()
    broker.put("again", 0, '{"ts": 5, "x": 5}')
    run = DurableRun(program(broker, "again"), options)
    run.to_end()
    run.close()
    assert found(tmp_path / "out") == [0, 1, 2, 3, 4, 5]


def test_a_topic_without_a_name_is_one_sentence(broker: Broker) -> None:
    text = f"CREATE STREAM s ({COLUMNS}) WITH (format = 'kafka'); SELECT x FROM s;"
    with pytest.raises(RunError, match="needs WITH"):
        BatchRun(cqc.compile(text), RunOptions(sink="none"))


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
    monkeypatch.setattr(socket_source, "FILE_BYTES", 100)
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
    monkeypatch.setattr(socket_source, "FILE_BYTES", 1)  # a file for each time that lines come
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


def test_the_rate_source_counts(tmp_path: Path) -> None:
    where = "format = 'rate', rows_per_second = '1000', rows = '5'"
    text = f"CREATE STREAM s (ts TIMESTAMP, x BIGINT, y DOUBLE) WITH ({where}); SELECT x FROM s;"
    run = BatchRun(cqc.compile(text), RunOptions(out=str(tmp_path / "out")))
    run.to_end()
    run.close()
    assert found(tmp_path / "out") == [0, 1, 2, 3, 4]
