"""Kafka topics, by `confluent-kafka` (the extra `kafka`).

    WITH (format = 'kafka', servers = 'host:9092', topic = 'readings', value = 'json')

A range is a stretch of offsets of one partition, so that a micro-batch can be read again. Values are JSON objects, or CSV
fields in the order of declaration (`value = 'csv'`). A finite run ends with what the topic held at its start.
"""

from __future__ import annotations

import io
import time
from typing import TYPE_CHECKING, Any

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.secret_values import revealed
from cqc.runtime.sources.formats.csv import read_csv
from cqc.runtime.sources.formats.jsonl import JsonLinesReader
from cqc.runtime.sources.range import Range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.intake.typed_batch import TypedBatch

MESSAGES_PER_RANGE = 100_000
_PATIENCE_S = 30.0
_AT_ONCE = 10_000


class KafkaFeed:
    """Offsets of one topic that were not handed out yet; `done` by partition.

    Raises:
        RunError: when the topic cannot be reached.
    """

    def __init__(
        self, name: str, relation: Relation, *, follow: bool, done: dict[str, int | None]
    ) -> None:
        self.name = name
        self.done = dict(done)
        self.ended = False
        self._follow = follow
        self._servers, self._topic = _place(relation)
        self._consumer = _consumer(self._servers, relation)
        self._latest = relation.options.get("starting", "earliest").lower() == "latest"
        self._ends: dict[int, int] = {}
        self._find_ends()

    def take(self, rows: int | None) -> tuple[Range, int] | None:
        for partition, end in self._ends.items():
            key = self._key(partition)
            start = self.done[key] or 0
            if start < end:
                stop = min(end, start + min(rows or MESSAGES_PER_RANGE, MESSAGES_PER_RANGE))
                self.done[key] = stop
                return Range(self.name, key, "kafka", start, stop), stop - start
        self.ended = not self._follow
        return None

    def look(self) -> None:
        if self._follow:
            self._find_ends()

    def give_back(self, part: Range) -> None:
        self.done[part.path] = part.start

    def forget_gone(self) -> None:
        return

    def done_with_all(self) -> None:
        return

    def close(self) -> None:
        self._consumer.close()

    def _key(self, partition: int) -> str:
        return f"{self._topic}/{partition}"

    def _find_ends(self) -> None:
        """Where the partitions end now; one that is new begins at its beginning."""
        from confluent_kafka import KafkaException, TopicPartition

        try:
            topic = self._consumer.list_topics(self._topic, timeout=_PATIENCE_S).topics[self._topic]
            if topic.error is not None:
                raise RunError(f"cannot read the Kafka topic {self._topic}: {topic.error.str()}")
            for partition in sorted(topic.partitions):
                place = TopicPartition(self._topic, partition)
                low, high = self._consumer.get_watermark_offsets(place, timeout=_PATIENCE_S)
                self._ends[partition] = high
                begin = high if self._latest and not self.done else low
                self.done.setdefault(self._key(partition), begin)
        except KafkaException as error:
            raise _cannot_read(self._topic, self._servers, error) from error


def read_kafka(relation: Relation, part: Range) -> Iterator[TypedBatch]:
    """The rows of a stretch of offsets.

    Raises:
        RunError: when they cannot be had.
    """
    from confluent_kafka import KafkaException, TopicPartition

    servers, _ = _place(relation)
    topic, _, partition = part.path.rpartition("/")
    consumer = _consumer(servers, relation)
    try:
        consumer.assign([TopicPartition(topic, int(partition), part.start)])
        values = _values(consumer, part)
    except KafkaException as error:
        raise _cannot_read(topic, servers, error) from error
    finally:
        consumer.close()
    if relation.options.get("value", "json").lower() == "csv":
        yield from read_csv(relation, io.BytesIO(b"\n".join(values)), part.path, has_header=False)
    elif values:
        # A line end cannot be inside a JSON text, only between its parts.
        lines = b"\n".join(value.replace(b"\n", b" ") for value in values)
        yield JsonLinesReader(relation).read(lines + b"\n")


def _values(consumer: Any, part: Range) -> list[bytes]:
    """The values of a range; offsets that hold none (after compaction, for one) are left out."""
    from confluent_kafka import KafkaError, KafkaException

    values: list[bytes] = []
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        for message in consumer.consume(_AT_ONCE, timeout=0.5):
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return values
            if error is not None:
                raise KafkaException(error)
            if message.offset() >= (part.stop or 0):
                return values
            deadline = time.monotonic() + _PATIENCE_S
            values.append(message.value() or b"null")
            if message.offset() == (part.stop or 0) - 1:
                return values
        if time.monotonic() > deadline:
            raise RunError(f"{part.path} gave nothing for {_PATIENCE_S:.0f} seconds")


def _place(relation: Relation) -> tuple[str, str]:
    options = revealed(relation.options, relation.folder)
    servers = options.get("servers") or options.get("kafka.bootstrap.servers")
    topic = options.get("topic") or options.get("subscribe")
    if not servers or not topic:
        raise RunError(
            f"{relation.name} needs WITH (format = 'kafka', servers = 'host:port', topic = 'name')"
        )
    return servers, topic


def _consumer(servers: str, relation: Relation) -> Any:
    try:
        from confluent_kafka import Consumer, KafkaException
    except ImportError as error:
        raise RunError(
            f"{relation.name} is read from Kafka, which needs `pip install confluent-kafka`"
        ) from error
    passed = {
        key.removeprefix("kafka."): value
        for key, value in revealed(relation.options, relation.folder).items()
        if key.startswith("kafka.") and key != "kafka.bootstrap.servers"
    }
    settings = {
        "group.id": "cqc",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "socket.timeout.ms": 10_000,
        "log_level": 0,
        **passed,
        "bootstrap.servers": servers,
    }
    try:
        return Consumer(settings)
    except KafkaException as error:  # an option that was handed on and means nothing there
        raise _cannot_read(_place(relation)[1], servers, error) from error


def _cannot_read(topic: str, servers: str, error: Exception) -> RunError:
    reason = error.args[0].str() if error.args and hasattr(error.args[0], "str") else str(error)
    return RunError(f"cannot read the Kafka topic {topic} from {servers}: {reason}")
