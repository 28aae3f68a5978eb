"""Topics of an MQTT broker, by `paho-mqtt` (the extra `mqtt`).

    WITH (format = 'mqtt', address = 'broker:1883', topic = 'plant/+/heat', value = 'json')

A message is a row. It is acknowledged when it is kept (`spooled`), and with a checkpoint the broker knows this client again by its name:
what comes while nobody reads waits at the broker, if it was published with quality of service 1 or 2. The stream has no end.
"""

from __future__ import annotations

import hashlib
import queue
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cqc.runtime.sources.broker_address import PATIENCE_S, BrokerAddress
from cqc.runtime.sources.line_form import LineForm
from cqc.runtime.sources.spooled import SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.errors import RunError
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier, Piece

_AT_ONCE = 10_000
_WAITING = 100_000  # messages that are not kept yet; the broker is read no further then
_LOOK_S = 0.2


class MqttFeed(SpooledFeed):
    """The feed of a stream whose rows are messages of a broker.

    Raises:
        RunError: when the broker cannot be reached, or does not let us read.
    """

    def __init__(
        self,
        name: str,
        relation: Relation,
        spool: Path | None,
        *,
        done: Mapping[str, Place],
        warn: Callable[[str], None],
    ) -> None:
        super().__init__(
            name, relation, MqttMessages(name, relation, spool, warn), spool, done=done
        )


class MqttMessages:
    """Messages as they come.

    Raises:
        RunError: when the broker cannot be reached, or does not let us read.
    """

    answers = True

    def __init__(
        self, name: str, relation: Relation, spool: Path | None, warn: Callable[[str], None]
    ) -> None:
        self._address = BrokerAddress(relation, 1883)
        try:
            from paho.mqtt.client import Client
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise self._address.missing("cqc[mqtt]") from error
        self._form = LineForm(relation)
        self._warn = warn
        self._waiting: queue.Queue[tuple[bytes, int, int]] = queue.Queue(_WAITING)
        self._closed = threading.Event()
        self._subscribed = threading.Event()
        self._refusal: RunError | None = None
        own = self._address.options.get("client") or _client_name(name, spool)
        self._client = Client(
            CallbackAPIVersion.VERSION2, own or "", clean_session=not own, manual_ack=True
        )
        if self._address.user is not None:
            self._client.username_pw_set(self._address.user, self._address.password)
        self._client.on_connect = self._connected
        self._client.on_subscribe = self._answered
        self._client.on_message = self._came
        self._client.on_disconnect = self._broke
        try:
            self._client.connect(self._address.host, self._address.port)
        except (OSError, ValueError) as error:
            raise self._address.cannot_read(error) from error
        self._client.loop_start()
        in_time = self._subscribed.wait(PATIENCE_S)
        if self._refusal is not None or not in_time:
            self.close()
            raise self._refusal or self._address.cannot_read("the broker does not answer")

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """Messages, some at a time; those that are kept are acknowledged."""
        del earlier  # the broker knows what it has acknowledgements for
        while not self._closed.is_set():
            came = self._next()
            if came:
                yield self._form.messages(payload for payload, _, _ in came)
                for _, number, quality in came:
                    self._client.ack(number, quality)

    def close(self) -> None:
        """End the connection; with a name of our own the broker goes on keeping messages."""
        self._closed.set()
        self._client.disconnect()
        self._client.loop_stop()

    def _next(self) -> list[tuple[bytes, int, int]]:
        try:
            came = [self._waiting.get(timeout=_LOOK_S)]
        except queue.Empty:
            return []
        while len(came) < _AT_ONCE and not self._waiting.empty():
            came.append(self._waiting.get())
        return came

    # Called by the client's own thread

    def _connected(self, client: Any, _data: Any, _flags: Any, reason: Any, _more: Any) -> None:
        if reason.is_failure:
            self._refusal = self._address.cannot_read(reason)
            self._subscribed.set()
            return
        client.subscribe(self._address.topic, qos=1)

    def _answered(self, _client: Any, _data: Any, _number: int, reasons: Any, _more: Any) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = self._address.cannot_read(
                f"the broker does not let us read {self._address.topic}"
            )
        self._subscribed.set()

    def _came(self, _client: Any, _data: Any, message: Any) -> None:
        while not self._closed.is_set():
            try:
                self._waiting.put((message.payload, message.mid, message.qos), timeout=_LOOK_S)
            except queue.Full:
                continue
            return

    def _broke(self, _client: Any, _data: Any, _flags: Any, _reason: Any, _more: Any) -> None:
        if self._subscribed.is_set() and not self._closed.is_set():
            self._warn(self._address.has_gone())


def _client_name(name: str, spool: Path | None) -> str | None:
    """The same in every start from one checkpoint, and no other's; None without a checkpoint."""
    if spool is None:
        return None
    own = hashlib.sha256(f"{Path(spool).resolve()}\n{name}".encode()).hexdigest()
    return f"cqc-{own[:18]}"  # 23 characters: as many as every broker takes
