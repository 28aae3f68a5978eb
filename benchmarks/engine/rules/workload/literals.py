"""The text that rules look for: pieces of values that are in the events, and text of the same look that is not.

Nearly all rules stay silent in practice, and yet most of what they name occurs: the program is there, its parameters are not.
So a literal is either taken from the values of its column, or made until no event has it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from cqc.benchmarks.engine.rules.workload.words import BEYOND_ASCII, filled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.benchmarks.engine.rules.workload.events import Events
    from cqc.benchmarks.engine.rules.workload.rules import Kind
    from cqc.benchmarks.engine.rules.workload.words import Words

_PATHS = ("image", "parent_image", "source_image", "target_image", "process_name", "image_loaded")
_FILES = ("target_filename", "object_name", "current_directory", "script_path")
_BATCH = 40  # made at a time for a column and kind, and twice as many each time after
_SAMPLE = 300_000  # letters of a column in which new text must not occur
# Lengths of literals by their share: 11 letters in the median, 44 at the 90th percentile.
_LENGTHS = ((0.0, 5), (0.2, 6), (0.5, 8), (0.75, 13), (0.9, 40), (0.99, 90), (1.0, 120))


class Literals:
    """Draws literals for a column and a kind of comparison."""

    def __init__(self, words: Words, events: Mapping[str, Events]) -> None:
        self._words = words
        self._events = events
        self._ready: dict[tuple[str, Kind], list[str]] = {}
        self._batches: dict[tuple[str, Kind], int] = {}
        self._corpora: dict[str, str] = {}

    def common(self, stream: str, column: str, kind: Kind) -> str:
        """A piece of a value that events have, those of frequent values first."""
        values = self._events[stream].columns[column].values
        value = values[int(len(values) * self._words.chance.random() ** 2)]
        if kind in ("whole", "equal"):
            return value
        length = min(len(value), max(4, round(self._length())))
        if kind == "starts":
            return value[: value.find("\\", 12) + 1] or value[:length]
        if kind == "ends":
            return value[value.rfind("\\") :] if "\\" in value else value[-length:]
        at = self._words.number(max(1, len(value) - length))
        piece = value[at : at + length]
        return (
            "%".join((piece[: length // 2], piece[length // 2 :])) if kind == "pattern" else piece
        )

    def new(self, stream: str, column: str, kind: Kind) -> str:
        """Text that no event has there."""
        ready = self._ready.setdefault((column, kind), [])
        while not ready:
            count = self._batches.get((column, kind), _BATCH)
            self._batches[column, kind] = min(2 * count, 50 * _BATCH)
            ready += self._absent([self._made(column, kind) for _ in range(count)], column)
        return ready.pop()

    def beyond_ascii(self, text: str) -> str:
        """The same with a letter beyond ASCII in it."""
        at = 1 + self._words.number(max(1, len(text) - 1))
        return text[:at] + self._words.one_of(BEYOND_ASCII) + text[at:]

    def _length(self) -> float:
        share = self._words.chance.random()
        for (low, short), (high, long) in pairwise(_LENGTHS):
            if share <= high:
                return short + (long - short) * (share - low) / (high - low)
        raise AssertionError(share)

    def _made(self, column: str, kind: Kind) -> str:
        words, length = self._words, int(self._length())
        if column == "hashes":
            name, digits = words.one_of(("IMPHASH=32", "IMPHASH=32", "MD5=32", "SHA256=64")).split(
                "="
            )
            return f"{name}={words.hexadecimal(int(digits))}"
        if column in ("destination_ip", "source_ip", "query_results"):
            parts = 4 if kind == "whole" else 3
            address = ".".join(str(1 + words.number(250)) for _ in range(parts))
            return address if parts == 4 else address + "."
        if kind == "equal":
            return str(words.number(60_000))
        if kind == "regex":
            return rf"{words.word(1, 2)}[0-9]{{2,4}}\.{words.word(2, 4)}(\s|$)"
        text = self._phrase(column, kind, length)
        if kind == "pattern":
            half = len(text) // 2
            return f"%{text[:half]}{'_' if words.number(3) == 0 else '%'}{text[half:]}%"
        return text

    def _phrase(self, column: str, kind: Kind, length: int) -> str:
        words = self._words
        if column in _PATHS:
            ending = ".dll" if column == "image_loaded" else ".exe"
            if kind == "starts":
                return rf"{words.folder()}\{words.name()}" + "\\"
            return (
                rf"\{words.word()}{ending}"
                if kind == "ends"
                else rf"\{words.name()}\{words.word(1, 2)}"
            )
        if column in _FILES or column == "target_object":
            if kind == "starts":
                return filled(
                    words.key() if column == "target_object" else words.folder(),
                    length,
                    words.name,
                    "\\",
                )
            return filled("\\" + words.name(), length, words.name, "\\")
        if column in ("script_text", "payload", "context"):
            return filled(f"{words.name()}-{words.name()}", length, words.option, " ")
        begin = words.option() if words.number(2) else f" {words.option()}"
        return filled(begin, length, words.option, " ")[: max(length, 5)]

    def _absent(self, made: list[str], column: str) -> list[str]:
        """Those that do not occur in a sample of the column's values, in any stream."""
        distinct = list(dict.fromkeys(each for each in made if len(each) >= 4))
        corpus = self._corpus(column)
        return [
            each for each in distinct if each.strip("%").partition("%")[0].lower() not in corpus
        ]

    def _corpus(self, column: str) -> str:
        if column not in self._corpora:
            owners = [
                each.columns[column] for each in self._events.values() if column in each.columns
            ]
            values = [value for each in owners for value in each.values]
            letters = sum(map(len, values))
            self._corpora[column] = "\n".join(values[:: 1 + letters // _SAMPLE]).lower()
        return self._corpora[column]
