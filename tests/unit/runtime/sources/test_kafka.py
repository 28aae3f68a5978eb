"""Streams from Kafka: topics read to their end, with offsets that a checkpoint remembers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import cqc
from cqc.runtime.errors import RunError
from cqc.runtime.options import RunOptions
from cqc.runtime.run.batch_run import BatchRun
from cqc.runtime.run.durable.durable_run import DurableRun
from tests.support.waiting import PATIENCE_S

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
