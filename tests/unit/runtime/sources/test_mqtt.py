"""Messages of a broker; `tests/integration/sources` has a real one that outlives the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.sources.mqtt import MqttFeed, _client_name
from cqc.runtime.sources.read_range import read_range
from tests.integration.sinks.receivers import free_port, server
from tests.support.waiting import PATIENCE_S, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from cqc.compiler.meaning.catalog import Relation

pytest.importorskip("paho.mqtt.client")


def stream(port: int, more: str = "") -> Relation:
    where = f"format = 'mqtt', address = '127.0.0.1:{port}', topic = 'a/#'{more}"
    return cqc.compile(f"CREATE STREAM s (ts BIGINT, x BIGINT) WITH ({where})").catalog.relations[
        "s"
    ]


def test_nobody_there_is_one_sentence() -> None:
    with pytest.raises(RunError, match=r"cannot read s from mqtt at 127\.0\.0\.1:"):
        MqttFeed("s", stream(free_port()), None, done={}, warn=print)


def test_a_broker_knows_the_run_of_one_checkpoint_again(tmp_path: Path) -> None:
    assert _client_name("s", None) is None
    assert _client_name("s", tmp_path) == _client_name("s", tmp_path)
    assert _client_name("s", tmp_path) != _client_name("t", tmp_path)


def test_a_broker_that_comes_back_is_read_again() -> None:
    import paho.mqtt.client as library

    port = free_port()
    said: list[str] = []
    came: set[int] = set()

    def publish(x: int) -> None:
        client = library.Client(library.CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", port)
        client.loop_start()
        client.publish("a/b", json.dumps({"ts": x, "x": x}), qos=1).wait_for_publish(PATIENCE_S)
        client.disconnect()
        client.loop_stop()

    def has(x: int) -> bool:
        publish(
            x
        )  # until the client is there again: without a checkpoint nobody keeps what it misses
        feed.look()
        while (found := feed.take(None)) is not None:
            came.update(
                time for batch in read_range(relation, found[0]) for time in batch.ts_us.tolist()
            )
        return len(came) == x

    relation = stream(port)
    with server("mosquitto", "-p", str(port), port=port):
        feed = MqttFeed("s", relation, None, done={}, warn=said.append)
        wait_until(lambda: has(1))
    wait_until(lambda: bool(said))
    with server("mosquitto", "-p", str(port), port=port):
        wait_until(lambda: has(2))
        feed.close()
    assert said[0].startswith("s: the connection to mqtt at")
