"""Where results may be sent: every type that CREATE SINK may name, with its options and what they may say.

The one list, as `source_formats` is for streams: the binder refuses what no sink would understand, and the runtime finds the
receiver of a type by the same name (`runtime/receivers/`). Types that users register (`cqc.sink`) take any option.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.meaning.source_formats import Number, Seconds, Text, Words

if TYPE_CHECKING:
    from collections.abc import Mapping

_UNITS = {
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
SPOOL_BYTES = 10**9


@dataclass(frozen=True, slots=True)
class Size:
    """A number of bytes: `1 GB`, `500MB`, `1000000`."""

    expected: str = "a size such as '1 GB'"

    def takes(self, text: str) -> bool:
        return bytes_of(text) is not None


def bytes_of(text: str) -> int | None:
    """How many bytes a size says; None when it says none above 0."""
    folded = text.strip().lower().replace("_", "")
    number = folded.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = folded[len(number) :].strip() or "b"
    try:
        size = int(float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        return None
    return size if size > 0 else None


OptionRule = Words | Number | Text | Size | Seconds
_BOOLEAN = Words(("true", "false"))
_COMMON: dict[str, OptionRule] = {
    "spool": Size(),
    "when_full": Words(("block", "drop_oldest")),
}


@dataclass(frozen=True, slots=True)
class SinkType:
    """One type: its options, those that must be given, and how options begin that are for somebody else."""

    options: Mapping[str, OptionRule]
    required: tuple[str, ...] = ()
    handed_on: str | None = None
    one_of: tuple[str, ...] = field(default=())  # of these at least one must be given

    @property
    def keys(self) -> tuple[str, ...]:
        return ("type", *self.options, *_COMMON)

    def has(self, key: str) -> bool:
        """Whether a key of WITH (folded) means something here."""
        return key in self.keys or (self.handed_on is not None and key.startswith(self.handed_on))

    def rule(self, key: str) -> OptionRule | None:
        return self.options.get(key) or _COMMON.get(key)


_ADDRESS = Text("host:port")
_MESSAGES: dict[str, OptionRule] = {
    "address": _ADDRESS,
    "topic": Text("the name of a topic"),
    "user": Text(),
    "password": Text(),
    "timeout": Seconds(),
}
_TABLE: dict[str, OptionRule] = {"table": Text("the name of a table"), "create": _BOOLEAN}

SINK_TYPES: dict[str, SinkType] = {
    "file": SinkType(
        {
            "path": Text("a path"),
            "format": Words(("jsonl", "csv", "parquet")),
            "partition_by": Text("names of columns"),
        },
        ("path",),
    ),
    "webhook": SinkType(
        {
            "url": Text("an address that begins with http:// or https://"),
            "method": Words(("post", "put", "patch")),
            "headers": Text("headers such as 'X-Team: blue; X-Env: prod'"),
            "template": Text("a text with {column} in it"),
            "format": Words(("json", "alertmanager", "slack")),
            "batch": Number(10_000),
            "timeout": Seconds(),
            "retries": Number(),
            "hmac": Text("a key"),
            "token": Text("a token"),
            "dead_letters": Text("a path"),
        },
        ("url",),
    ),
    "alertmanager": SinkType(
        {
            "url": Text("an address that begins with http:// or https://"),
            "headers": Text("headers such as 'X-Team: blue; X-Env: prod'"),
            "timeout": Seconds(),
            "token": Text("a token"),
        },
        ("url",),
    ),
    "kafka": SinkType(
        {
            "servers": _ADDRESS,
            "topic": Text("the name of a topic"),
            "key": Text("the name of a column"),
            "value": Words(("json", "row")),
            "transactional_id": Text(),
            "timeout": Seconds(),
        },
        ("servers", "topic"),
        handed_on="kafka.",
    ),
    "postgres": SinkType({"dsn": Text("a connection string"), **_TABLE}, ("dsn", "table")),
    "sqlite": SinkType({"path": Text("a path"), **_TABLE}, ("path", "table")),
    "duckdb": SinkType({"path": Text("a path"), **_TABLE}, ("path", "table")),
    "spark": SinkType(
        {"format": Text("a format of Spark"), "path": Text("a path"), "table": Text("a table")},
        ("format",),
        handed_on="options.",
        one_of=("path", "table"),
    ),
    "mqtt": SinkType(_MESSAGES, ("address", "topic")),
    "nats": SinkType(_MESSAGES, ("address", "topic")),
    "redis": SinkType(_MESSAGES, ("address", "topic")),
    "stdout": SinkType({}),
    "none": SinkType({}),
}
USER_TYPES: set[str] = set()
"""The names that `cqc.sink` registered."""
