"""Where rows may come from: every format that WITH may name, with its options and what they may say.

This is the one list. `cqc check` reads it to refuse what nobody would understand, and the runtime to find the reader of a
format, so that a program which passes the check is not refused for its words when it runs.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.times.time_patterns import UNITS_US, pieces_of, zone_named

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_PORT = 65_535


@record
class Words:
    """An option that is one of some words, in any case."""

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        *others, last = (f"'{word}'" for word in self.words)
        return f"{', '.join(others)} or {last}"

    def takes(self, text: str) -> bool:
        return text.lower() in self.words


@record
class Number:
    """An option that is a whole number, from 1 on."""

    most: int | None = None

    @property
    def expected(self) -> str:
        return "a whole number above 0" if self.most is None else f"a number from 1 to {self.most}"

    def takes(self, text: str) -> bool:
        # Not isdigit() alone, which takes digits that int() does not, such as superscripts.
        if not (text.isascii() and text.isdigit()):
            return False
        return int(text) >= 1 and (self.most is None or int(text) <= self.most)


@record
class Text:
    """An option that may be any text but an empty one."""

    expected: str = "a text"

    def takes(self, text: str) -> bool:
        return text != ""


@record
class Letter:
    """An option that is one character of ASCII, or `tab`."""

    expected: str = "one character, or 'tab'"

    def takes(self, text: str) -> bool:
        return letter_of(text) is not None


def letter_of(text: str) -> str | None:
    """The character that an option names; None for one that names none."""
    if text.lower() in ("tab", "\\t"):
        return "\t"
    usable = len(text) == 1 and text.isascii() and text not in "\r\n\0"
    return text if usable else None


@record
class TimeForm:
    """How times are written: a unit in which they are counted, or a pattern."""

    @property
    def expected(self) -> str:
        return "'seconds', 'millis', 'micros' or a pattern such as 'yyyy-MM-dd HH:mm:ss'"

    def takes(self, text: str) -> bool:
        return text.lower() in UNITS_US or not isinstance(pieces_of(text), str)


@record
class Zone:
    """The name of a time zone."""

    expected: str = "a time zone such as 'Europe/Berlin' or '+01:00'"

    def takes(self, text: str) -> bool:
        return zone_named(text) is not None


@record
class AnyText:
    """An option that may be any text, an empty one too."""

    expected: str = "a text"

    def takes(self, text: str) -> bool:
        del text
        return True


@record
class Seconds:
    """A time in seconds: `5`, `0.5`, `5 s`."""

    expected: str = "seconds above 0, such as '5'"

    def takes(self, text: str) -> bool:
        return seconds_of(text) is not None


def seconds_of(text: str) -> float | None:
    """How many seconds a text says; None when it says none above 0."""
    folded = text.strip().lower()
    for ending in ("seconds", "second", "secs", "sec", "s"):
        if folded.endswith(ending):
            folded = folded.removesuffix(ending).strip()
            break
    try:
        seconds = float(folded)
    except ValueError:
        return None
    return seconds if 0 < seconds < 1e9 else None


OptionKind = Words | Number | Text | Letter | TimeForm | Zone | AnyText | Seconds


class Cut(Enum):
    """How a file is cut into pieces, which are read one after the other."""

    LINES = "lines"  # at the ends of lines; such a file may grow
    ROWS = "rows"  # by the numbers of its rows
    WHOLE = "whole"  # not at all


@record
class FileKind:
    """A kind of file: how its name may end (the usual ending first), and how it is cut."""

    endings: tuple[str, ...]
    cut: Cut


@record
class SourceFormat:
    """One format.

    Attributes:
        options: what WITH may say beside the format itself.
        reader: which kind of `FILES` it is; None where rows come by a connection.
        handed_on: options that begin so are for somebody else, who knows what they mean.
    """

    options: Mapping[str, OptionKind]
    reader: str | None = None
    handed_on: str | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        return ("format", *self.options)

    def has(self, key: str) -> bool:
        """Whether a key of WITH (folded) means something here."""
        return key in self.keys or (self.handed_on is not None and key.startswith(self.handed_on))


FILES: dict[str, FileKind] = {
    "csv": FileKind((".csv",), Cut.LINES),
    "jsonl": FileKind((".jsonl", ".json", ".ndjson"), Cut.LINES),
    "parquet": FileKind((".parquet",), Cut.ROWS),
    "evtx": FileKind((".evtx",), Cut.WHOLE),
}
FILE_OF_ENDING = {ending: name for name, kind in FILES.items() for ending in kind.endings}

_FILE: dict[str, OptionKind] = {"path": Text("a path")}
_VALUE = Words(("json", "csv"))
# How values are read, wherever they come from (`cqc.runtime.columns.convert.reading`).
_READING: dict[str, OptionKind] = {
    "timestamp": TimeForm(),
    "zone": Zone(),
    "on_bad": Words(("reject", "null")),
}
_MODE: dict[str, OptionKind] = {"mode": Words(("lenient", "strict"))}
_CSV: dict[str, OptionKind] = {
    "delimiter": Letter(),
    "quote": Letter(),
    "header": Words(("true", "false")),
    "nulls": AnyText("texts that mean NULL, with commas between them"),
}
_LINES: dict[str, OptionKind] = {**_READING, **_MODE, "delimiter": Letter(), "quote": Letter()}
_LINES["nulls"] = _CSV["nulls"]
_MESSAGES: dict[str, OptionKind] = {
    "address": Text("host:port"),
    "topic": Text("the name of a topic"),
    "user": Text("a name"),
    "password": Text("a password"),
    "value": _VALUE,
    **_LINES,
}

FORMATS: dict[str, SourceFormat] = {
    "csv": SourceFormat({**_FILE, **_CSV, **_READING}, "csv"),
    "json": SourceFormat({**_FILE, **_READING, **_MODE}, "jsonl"),
    "jsonl": SourceFormat({**_FILE, **_READING, **_MODE}, "jsonl"),
    "parquet": SourceFormat({**_FILE, **_READING, **_MODE}, "parquet"),
    "evtx": SourceFormat({**_FILE, **_READING, **_MODE}, "evtx"),
    "kafka": SourceFormat(
        {
            "servers": Text("host:port"),
            "topic": Text("the name of a topic"),
            "subscribe": Text("the name of a topic"),  # Spark's word for it
            "value": _VALUE,
            "starting": Words(("earliest", "latest")),
            **_LINES,
        },
        handed_on="kafka.",
    ),
    "socket": SourceFormat(
        {"host": Text("a host"), "port": Number(LARGEST_PORT), "value": _VALUE, **_LINES}
    ),
    "http": SourceFormat(
        {"host": Text("a host"), "port": Number(LARGEST_PORT), "token": Text("a token"), **_LINES}
    ),
    "mqtt": SourceFormat({**_MESSAGES, "client": Text("a name for this client")}),
    "nats": SourceFormat({**_MESSAGES, "durable": Text("the name of a consumer of JetStream")}),
    "postgres": SourceFormat(
        {
            "dsn": Text("a connection string"),
            "table": Text("the name of a table"),
            "growing": Text("the name of a column that grows"),
            "poll": Seconds(),
            **_READING,
            **_MODE,
        }
    ),
    "rate": SourceFormat({"rows_per_second": Number(), "rows": Number()}),
}
CONNECTIONS = tuple(name for name, format_ in FORMATS.items() if format_.reader is None)
# Connections that a table can be read from as well, once, before the first row of a stream.
READ_ONCE = ("postgres",)
# What the files are, their names say; rows may also be pushed.
WITHOUT_FORMAT = SourceFormat({**_FILE, **_CSV, **_READING, **_MODE})
ANY = SourceFormat({}, handed_on="")  # a user's own source: what it takes is its own matter


def format_called(name: str) -> SourceFormat | None:
    """The format of a name, in any case."""
    return FORMATS.get(name.lower())


def has_lines(name: str) -> bool:
    """Whether a kind of file is cut at its lines, and so may grow; False for connections."""
    kind = FILES.get(name)
    return kind is not None and kind.cut is Cut.LINES
