"""Which receiver a sink of a type has: ours by name, loaded when they are needed, and those that users register.

cqc.sink("pigeon", PigeonReceiver)          CREATE SINK roof WITH (type = 'pigeon', loft = 'north')
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.arguments import expect
from cqc.compiler.meaning.sink_types import SINK_TYPES, USER_TYPES
from cqc.runtime.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.runtime.receivers.receiver import Receiver, Setting

HOMES = {
    "file": "cqc.runtime.receivers.file:FileReceiver",
    "webhook": "cqc.runtime.receivers.webhook:WebhookReceiver",
    "alertmanager": "cqc.runtime.receivers.alertmanager:AlertmanagerReceiver",
    "kafka": "cqc.runtime.receivers.kafka:KafkaReceiver",
    "postgres": "cqc.runtime.receivers.postgres:PostgresReceiver",
    "sqlite": "cqc.runtime.receivers.sqlite:SqliteReceiver",
    "duckdb": "cqc.runtime.receivers.duckdb:DuckdbReceiver",
    "spark": "cqc.runtime.spark.result_table:SparkReceiver",
    "mqtt": "cqc.runtime.receivers.messages:MqttReceiver",
    "nats": "cqc.runtime.receivers.messages:NatsReceiver",
    "redis": "cqc.runtime.receivers.messages:RedisReceiver",
    "stdout": "cqc.runtime.receivers.printed:StdoutReceiver",
    "none": "cqc.runtime.receivers.printed:NoneReceiver",
}
_registered: dict[str, Callable[[Setting], Receiver]] = {}


def sink(name: str, receiver: Callable[[Setting], Receiver]) -> None:
    """Register a type of sink of your own, for `WITH (type = 'NAME', ...)`.

    Args:
        name: the type, in any case.
        receiver: called with a `Setting` (the sink's name and options); gives an object with `at_once`, `send(results)`,
            `stored()` and `close()`. `send` raises `cqc.UnreachableError` for "try again" and `cqc.RefusedError` for "never".

    Raises:
        ValueError: when a type of this name is built in.

    Example:
        >>> import cqc
        >>> class Pigeon:
        ...     at_once = 1
        ...     def __init__(self, setting): self.loft = setting.options["loft"]
        ...     def send(self, results): pass
        ...     def stored(self): return None
        ...     def close(self): pass
        >>> cqc.sink("pigeon", Pigeon)
        >>> program = cqc.compile("CREATE SINK roof WITH (type = 'pigeon', loft = 'north')")
    """
    expect(name, str, "cqc.sink", "the name of a type")
    if name.lower() in SINK_TYPES:
        raise ValueError(f"there is a built-in sink type {name.lower()}")
    if not callable(receiver):
        raise TypeError("cqc.sink takes a name and something to call that makes a receiver")
    _registered[name.lower()] = receiver
    USER_TYPES.add(name.lower())


def open_receiver(type_: str, setting: Setting) -> Receiver:
    """The receiver of a type.

    Raises:
        RunError: when there is none, or its options cannot be.
        UnreachableError: when it cannot be reached now.
    """
    made = _registered.get(type_)
    if made is not None:
        return made(setting)
    home = HOMES.get(type_)
    if home is None:
        raise RunError(f"there is no sink type {type_}; register it with cqc.sink first")
    module, _, name = home.partition(":")
    receiver: Receiver = getattr(import_module(module), name)(setting)
    return receiver
