"""Results as messages of MQTT, NATS and Redis: at least once, the id in the payload."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from cqc.compiler.meaning.source_formats import seconds_of
from cqc.runtime.errors import RunError
from cqc.runtime.receivers.receiver import AT_ONCE, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.runtime.receivers.receiver import Sent, Setting

_TIMEOUT_S = 10.0


def _address(setting: Setting, port: int) -> tuple[str, int]:
    host, colon, given = setting.options["address"].rpartition(":")
    if not colon:
        return setting.options["address"], port
    if not given.isdigit():
        raise RunError(
            f"address of sink {setting.sink} is host:port, not {setting.options['address']}"
        )
    return host.strip("[]") or "localhost", int(given)


def _timeout(setting: Setting) -> float:
    return seconds_of(setting.options.get("timeout", "")) or _TIMEOUT_S


def _missing(type_: str, package: str) -> RunError:
    return RunError(
        f"a sink of type {type_} needs the package {package}: pip install 'cqc[{type_}]'"
    )


class MqttReceiver:
    """Publishes with quality of service 1: the broker says that it has each message."""

    at_once = AT_ONCE

    def __init__(self, setting: Setting) -> None:
        try:
            from paho.mqtt.client import Client
            from paho.mqtt.enums import CallbackAPIVersion
        except ImportError as error:
            raise _missing("mqtt", "paho-mqtt") from error
        host, port = _address(setting, 1883)
        self._topic, self._timeout_s = setting.options["topic"], _timeout(setting)
        self._client = Client(CallbackAPIVersion.VERSION2)
        if "user" in setting.options:
            self._client.username_pw_set(setting.options["user"], setting.options.get("password"))
        self._client.max_inflight_messages_set(AT_ONCE)
        try:
            self._client.connect(host, port)
        except (OSError, ValueError) as error:
            raise UnreachableError(f"MQTT at {host}:{port} cannot be reached ({error})") from error
        self._client.loop_start()

    def send(self, results: Sequence[Sent]) -> None:
        try:
            under_way = [
                self._client.publish(self._topic, each.line.encode(), qos=1) for each in results
            ]
            for each in under_way:
                each.wait_for_publish(self._timeout_s)
                if not each.is_published():
                    raise UnreachableError("the MQTT broker did not confirm a message")
        except (RuntimeError, ValueError) as error:
            raise UnreachableError(f"the MQTT broker did not take a message ({error})") from error

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        self._client.loop_stop()
        self._client.disconnect()


class RedisReceiver:
    """Adds to a Redis stream (XADD), which keeps what nobody has read yet."""

    at_once = AT_ONCE

    def __init__(self, setting: Setting) -> None:
        try:
            import redis
        except ImportError as error:
            raise _missing("redis", "redis") from error
        host, port = _address(setting, 6379)
        self._error: Any = redis.RedisError
        self._topic = setting.options["topic"]
        timeout_s = _timeout(setting)
        self._client = redis.Redis(
            host,
            port,
            username=setting.options.get("user"),
            password=setting.options.get("password"),
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
        )

    def send(self, results: Sequence[Sent]) -> None:
        try:
            with self._client.pipeline(transaction=True) as pipe:
                for each in results:
                    pipe.xadd(
                        self._topic, {"id": each.id, "query": each.query, "result": each.line}
                    )
                pipe.execute()
        except self._error as error:
            raise UnreachableError(f"Redis did not take the results ({error})") from error

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        self._client.close()


class NatsReceiver:
    """Publishes, and waits for the server's word that it has read everything."""

    at_once = AT_ONCE

    def __init__(self, setting: Setting) -> None:
        try:
            import nats
        except ImportError as error:
            raise _missing("nats", "nats-py") from error
        host, port = _address(setting, 4222)
        self._topic, self._timeout_s = setting.options["topic"], _timeout(setting)
        self._errors: Any = (nats.errors.Error, OSError, TimeoutError, asyncio.InvalidStateError)
        self._loop = asyncio.new_event_loop()
        try:
            self._connection = self._loop.run_until_complete(
                nats.connect(
                    f"nats://{host}:{port}",
                    user=setting.options.get("user"),
                    password=setting.options.get("password"),
                    connect_timeout=int(self._timeout_s) or 1,
                    allow_reconnect=False,
                    error_cb=_ignore,
                )
            )
        except self._errors as error:
            self._loop.close()
            raise UnreachableError(f"NATS at {host}:{port} cannot be reached ({error})") from error

    def send(self, results: Sequence[Sent]) -> None:
        async def publish() -> None:
            for each in results:
                await self._connection.publish(
                    self._topic, each.line.encode(), headers={"Nats-Msg-Id": each.id}
                )
            await self._connection.flush(int(self._timeout_s) or 1)

        try:
            self._loop.run_until_complete(publish())
        except self._errors as error:
            raise UnreachableError(f"NATS did not take the results ({error})") from error

    def stored(self) -> int | None:
        return None

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.run_until_complete(self._connection.close())
            self._loop.close()


async def _ignore(error: Exception) -> None:
    """What goes wrong is told by the call that it goes wrong in."""
