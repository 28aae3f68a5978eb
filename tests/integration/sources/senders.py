"""The systems that rows come from, as real as a machine has them: what WITH says, and how rows are sent."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.integration.sinks.receivers import free_port, postgres_server, server
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Row = dict[str, Any]


class Sender:
    """One kind of source.

    Attributes:
        options: what WITH says.
        send: hands over rows; when it returns the other side has them.
        waits: whether rows that are sent while nobody reads wait there.
        repeats: whether a row may come twice after a crash.
    """

    def __init__(
        self,
        options: str,
        send: Callable[[list[Row]], None],
        *,
        waits: bool = True,
        repeats: bool = False,
    ) -> None:
        self.options = options
        self.send = send
        self.waits = waits
        self.repeats = repeats


@contextmanager
def http(folder: Path) -> Iterator[Sender]:
    pytest.importorskip("uvicorn")
    port = free_port()
    (folder / "token").write_text("hush-hush\n")
    kinds = ["application/json", "application/x-ndjson", "text/csv"]

    def send(rows: list[Row]) -> None:
        kind = kinds[0]
        kinds.append(kinds.pop(0))
        if kind == "text/csv":
            body = "t,ts,x\n" + "".join(
                f'"{row["t"].replace(chr(34), 2 * chr(34))}",{row["ts"]},{row["x"]}\n'
                for row in rows
            )
        elif kind == "application/json":
            body = json.dumps(rows, indent=1)
        else:
            body = "\n".join(map(json.dumps, rows))
        with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
            wait_until(lambda: is_there(client))
            answer = client.post(
                f"http://127.0.0.1:{port}/streams/http_rows",
                content=body.encode(),
                headers={"content-type": kind, "authorization": "Bearer hush-hush"},
            )
        assert answer.status_code == 200, answer.text
        assert answer.json() == {
            "read": len(rows),
            "accepted": len(rows),
            "rejected": 0,
            "reasons": {},
        }

    def is_there(client: httpx.Client) -> bool:
        try:
            return client.get(f"http://127.0.0.1:{port}/").status_code == 401
        except httpx.TransportError:
            return False

    yield Sender(f"format = 'http', port = {port}, token = FILE('token')", send, waits=False)


@contextmanager
def mqtt(folder: Path) -> Iterator[Sender]:
    library = pytest.importorskip("paho.mqtt.client")
    del folder
    port = free_port()
    with server("mosquitto", "-p", str(port), port=port):
        client = library.Client(library.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", port)
        client.loop_start()

        def send(rows: list[Row]) -> None:
            for row in rows:
                client.publish("plant/heat", json.dumps(row), qos=1).wait_for_publish(PATIENCE_S)

        try:
            yield Sender(
                f"format = 'mqtt', address = '127.0.0.1:{port}', topic = 'plant/+'",
                send,
                repeats=True,
            )
        finally:
            client.disconnect()
            client.loop_stop()


@contextmanager
def nats(folder: Path) -> Iterator[Sender]:
    library = pytest.importorskip("nats")
    port = free_port()
    with server(
        "nats-server",
        "-a",
        "127.0.0.1",
        "-p",
        str(port),
        "-js",
        "-sd",
        str(folder / "js"),
        port=port,
    ):
        loop = asyncio.new_event_loop()
        running = threading.Thread(target=loop.run_forever)
        running.start()

        def done(work: Any) -> Any:
            return asyncio.run_coroutine_threadsafe(work, loop).result(PATIENCE_S)

        connection = done(library.connect(f"nats://127.0.0.1:{port}"))
        stream = connection.jetstream()
        done(stream.add_stream(name="plant", subjects=["plant.*"]))

        def send(rows: list[Row]) -> None:
            for row in rows:
                done(stream.publish("plant.heat", json.dumps(row).encode()))

        try:
            yield Sender(
                f"format = 'nats', address = '127.0.0.1:{port}', topic = 'plant.*', durable = 'cqc'",
                send,
                repeats=True,
            )
        finally:
            done(connection.close())
            loop.call_soon_threadsafe(loop.stop)
            running.join()
            loop.close()


@contextmanager
def postgres(folder: Path) -> Iterator[Sender]:
    psycopg = pytest.importorskip("psycopg")
    with postgres_server(folder) as dsn:
        (folder / "dsn").write_text(dsn)
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS readings")
            connection.execute(
                "CREATE TABLE readings (id BIGSERIAL, ts BIGINT, x BIGINT, t TEXT, more JSONB)"
            )

        def send(rows: list[Row]) -> None:
            with psycopg.connect(dsn, autocommit=True) as connection:
                for row in rows:
                    connection.execute(
                        "INSERT INTO readings (ts, x, t) VALUES (%s, %s, %s)",
                        (row["ts"], row["x"], row["t"]),
                    )

        yield Sender(
            "format = 'postgres', dsn = FILE('dsn'), table = 'readings', growing = 'id', poll = '0.1'",
            send,
        )


SENDERS: dict[str, Callable[[Path], Any]] = {
    "http": http,
    "mqtt": mqtt,
    "nats": nats,
    "postgres": postgres,
}
