"""The streams that imported rules read: which columns they use, and the CREATE STREAM statements for them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cqc.compiler.meaning.catalog import fold
from cqc.importers.program_text import duration, identifier, text

if TYPE_CHECKING:
    from cqc.importers.mapping import Place

TIME = "ts"
DELAY = "1 MINUTE"
MESSAGES = ("message",)  # where the text of an event is when nobody knows better


@dataclass
class Stream:
    """One stream and the fields that rules use, by folded name as first written."""

    name: str
    place: Place
    fields: dict[str, str] = field(default_factory=dict)

    def column(self, name: str) -> str:
        """Use a field; returns the expression that reads it as text."""
        if fold(name) == TIME:
            return f"CAST({TIME} AS STRING)"
        return identifier(self.fields.setdefault(fold(name), name))

    def declaration(self, delay: str) -> str:
        """Its CREATE STREAM."""
        lines = [f"{TIME} TIMESTAMP" + _from(self.place.timestamp)]
        names = sorted(self.fields.values(), key=fold)
        lines += [f"{identifier(each)} STRING" + _from(self.place.path_of(each)) for each in names]
        if delay:
            lines.append(f"WATERMARK FOR {TIME} AS {TIME} - INTERVAL {delay}")
        options = ", ".join(f"{key} = {text(value)}" for key, value in self.place.options.items())
        ending = f"\n  WITH ({options})" if options else ""
        return (
            f"CREATE STREAM {identifier(self.name)} (\n  " + ",\n  ".join(lines) + f"){ending};\n"
        )


class Streams:
    """All streams of an import, by name."""

    def __init__(self, delay: str = DELAY) -> None:
        self._delay = delay
        self.found: dict[str, Stream] = {}
        self._longest_us: float = 0

    def named(self, name: str, place: Place) -> Stream:
        """A stream by its name; the first to ask says where its fields are."""
        stream = self.found.get(fold(name))
        if stream is None:
            stream = self.found[fold(name)] = Stream(name, place)
        return stream

    def add_columns_for_keywords(self, stream: Stream) -> None:
        """Rules without field names look at all columns: declare those that the log source has."""
        for name in stream.place.columns or MESSAGES:
            stream.column(name)

    def keep_groups(self, span_us: float) -> None:
        """Some query keeps what it knows of a group until it was silent for so long; `math.inf` for ever."""
        self._longest_us = max(self._longest_us, span_us)

    @property
    def declarations(self) -> str:
        """All CREATE STREAM statements, by name, after how long groups are kept."""
        streams = sorted(self.found.values(), key=lambda each: each.name)
        statements = [each.declaration(self._delay) for each in streams]
        if 0 < self._longest_us < math.inf:
            # No answer depends on it: a group that was silent for longer than every span has nothing left in one.
            statements.insert(0, f"SET KEY_IDLE = {duration(int(self._longest_us))};\n")
        return "\n".join(statements)


def _from(path: str | None) -> str:
    return "" if path is None else f" FROM {text(path)}"
