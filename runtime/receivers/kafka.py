"""Results in a topic of Kafka: exactly once by transactions where the broker has them and `transactional_id` is given, else at least once.

The id of a result is a header of its message. With transactions the sink's place is a message of the same transaction, on a topic of
its own (`_cqc_sent`), so that after a crash the last one says what is there.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.source_formats import seconds_of
from cqc.runtime.errors import RunError
from cqc.runtime.receivers.exact_values import exact_value, row_text
from cqc.runtime.receivers.receiver import RefusedError, UnreachableError
from cqc.runtime.receivers.templates import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting

_PLACES = "_cqc_sent"
_TIMEOUT_S = 30.0
_END_OF_PARTITION = -191  # librdkafka's code for it


class KafkaReceiver:
    """Produces to one topic."""

    at_once = 5_000

    def __init__(self, setting: Setting) -> None:
        try:
            import confluent_kafka
        except ImportError as error:
            raise RunError(
                "a sink of type kafka needs the package confluent-kafka: pip install 'cqc[kafka]'"
            ) from error
        options = setting.options
        self._kafka: Any = confluent_kafka
        self._topic = options["topic"]
        self._key = options.get("key")
        self._whole = options.get("value", "json").lower() == "json"
        self._timeout_s = seconds_of(options.get("timeout", "")) or _TIMEOUT_S
        self._place = f"{setting.program}/{setting.sink}/{setting.run}"
        self._client = {
            "bootstrap.servers": options["servers"],
            **{
                name.removeprefix("kafka."): text
                for name, text in options.items()
                if name.startswith("kafka.")
            },
        }
        self._is_transactional = "transactional_id" in options
        settings = {**self._client, "enable.idempotence": True, "linger.ms": 5, "logger": _silent()}
        if self._is_transactional:
            settings["transactional.id"] = options["transactional_id"]
        self._failed: list[str] = []
        try:
            self._producer = confluent_kafka.Producer(settings)
            if self._is_transactional:
                self._producer.init_transactions(self._timeout_s)
        except confluent_kafka.KafkaException as error:
            raise UnreachableError(f"Kafka cannot be reached ({_reason(error)})") from error

    def stored(self) -> int | None:
        return self._last_place() if self._is_transactional else None

    def send(self, results: Sequence[Sent]) -> None:
        self._failed.clear()
        messages = self._messages(results)  # before a transaction is begun: some may be refused
        try:
            if self._is_transactional:
                self._producer.begin_transaction()
            for key, value, id_ in messages:
                self._produce(self._topic, key, value, id_)
            if self._is_transactional:
                place = str(results[-1].number).encode()
                self._produce(_PLACES, self._place.encode(), place, None)
            left = self._producer.flush(self._timeout_s)
            if left or self._failed:
                raise UnreachableError(
                    f"Kafka did not take {left or len(self._failed)} messages"
                    + (f" ({self._failed[0]})" if self._failed else "")
                )
            if self._is_transactional:
                self._producer.commit_transaction(self._timeout_s)
        except UnreachableError:
            self._abort()
            raise
        except (self._kafka.KafkaException, BufferError) as error:
            self._abort()
            raise UnreachableError(f"Kafka did not answer ({_reason(error)})") from error

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(0.1)

    def _produce(self, topic: str, key: bytes | None, value: bytes, id_: str | None) -> None:
        headers: Any = None if id_ is None else [("id", id_.encode())]
        while True:
            try:
                self._producer.produce(topic, value, key, headers=headers, on_delivery=self._noted)
                self._producer.poll(0)
                return
            except BufferError:
                if self._producer.poll(self._timeout_s) == 0:
                    raise

    def _noted(self, error: Any, message: Any) -> None:
        del message
        if error is not None:
            self._failed.append(str(error.str()))

    def _messages(self, results: Sequence[Sent]) -> list[tuple[bytes | None, bytes, str]]:
        made, without = [], []
        for each in results:
            key = None
            if self._key is not None:
                row = exact_value(each)["row"]
                if self._key not in row:
                    without.append(each)
                    continue
                key = None if row[self._key] is None else shown(row[self._key]).encode()
            value = each.line if self._whole else row_text(each)
            made.append((key, value.encode(), each.id))
        if without:
            names = ", ".join(dict.fromkeys(each.query for each in without))
            refused = [each.number for each in without]
            raise RefusedError(f"query {names} has no column {self._key}", refused=refused)
        return made

    def _abort(self) -> None:
        if self._is_transactional:
            with contextlib.suppress(self._kafka.KafkaException):  # a new connection ends it too
                self._producer.abort_transaction(5.0)

    def _last_place(self) -> int:
        """The last place that a transaction of this run has written."""
        kafka = self._kafka
        consumer = kafka.Consumer(
            {
                **self._client,
                "group.id": "cqc",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "logger": _silent(),
            }
        )
        try:
            known = consumer.list_topics(_PLACES, timeout=self._timeout_s).topics[_PLACES]
            if known.error is not None or not known.partitions:
                return 0
            parts = [kafka.TopicPartition(_PLACES, each, 0) for each in known.partitions]
            consumer.assign(parts)
            last, left = 0, len(parts)
            while left:
                message = consumer.poll(self._timeout_s)
                if message is None:
                    raise UnreachableError("Kafka did not answer")
                if message.error() is not None:
                    if message.error().code() != _END_OF_PARTITION:
                        raise UnreachableError(f"Kafka did not answer ({message.error().str()})")
                    left -= 1
                elif message.key() == self._place.encode():
                    last = max(last, int(message.value()))
            return last
        except kafka.KafkaException as error:
            raise UnreachableError(f"Kafka did not answer ({_reason(error)})") from error
        finally:
            consumer.close()


def _reason(error: BaseException) -> str:
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)


def _silent() -> Any:
    """The client's own log: what it says is in our sentences already."""
    import logging

    logger = logging.getLogger("cqc.kafka")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger
