"""Text of our own invention that looks like what logs hold: programs, paths, command lines, registry keys, scripts.

All of it is made of syllables. What matters is the form: separators, mixed case, lengths, and that most of a value is the same
as in many other values.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_SYLLABLES = (
    *(f"{first}{second}" for first in "bdfghklmnprstvw" for second in "aeio"),
    *("ser", "net", "sys", "win", "con", "man", "mon", "host", "task", "stor", "log", "reg", "ter"),
)
_FOLDERS = (
    *3 * (r"C:\Windows\System32",),
    r"C:\Windows\SysWOW64",
    r"C:\Program Files",
    r"C:\Program Files (x86)",
    r"C:\ProgramData",
    r"C:\Users\{}\AppData\Local",
    r"C:\Users\{}\Downloads",
)
_HIVES = (r"HKLM\System\CurrentControlSet", r"HKLM\SOFTWARE", r"HKU\S-1-5-21-3457-1001\Software")
# Letters beyond ASCII occur in small form only: not every engine folds the case of others.
BEYOND_ASCII = "éüñøçßжшτλ"


class Words:
    """A seeded source of words, names and longer text."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def word(self, least: int = 2, most: int = 4) -> str:
        """A few syllables."""
        return "".join(self.chance.choices(_SYLLABLES, k=self.chance.randint(least, most)))

    def name(self) -> str:
        """A word that begins with a capital."""
        return self.word().capitalize()

    def one_of(self, choices: Sequence[str]) -> str:
        """Any of them."""
        return self.chance.choice(choices)

    def number(self, below: int) -> int:
        """A number from 0."""
        return self.chance.randrange(below)

    def hexadecimal(self, digits: int) -> str:
        """Digits of a hash."""
        return f"{self.chance.getrandbits(4 * digits):0{digits}X}"

    def folder(self) -> str:
        """Where a program lives."""
        base = self.one_of(_FOLDERS).format(self.word(1, 2))
        return base if base.endswith(("32", "64")) else rf"{base}\{self.name()}"

    def program(self, ending: str = ".exe") -> str:
        """The path of a program or library."""
        return rf"{self.folder()}\{self.word(1, 3)}{ending}"

    def key(self) -> str:
        """A registry key."""
        parts = [self.name() for _ in range(2)]
        return "\\".join([self.one_of(_HIVES), *parts])

    def option(self) -> str:
        """A word of a command line."""
        match self.number(6):
            case 0:
                return f"-{self.word(1, 2)}"
            case 1:
                return f"/{self.word(1, 1)}:{self.number(5000)}"
            case 2:
                return f"--{self.word(1, 2)}={self.word(1, 3)}"
            case 3:
                return f'"{self.folder()}"'
            case 4:
                return f"{{{self.hexadecimal(8)}-{self.hexadecimal(4)}}}"
            case _:
                return self.word(1, 4)

    def script_line(self) -> str:
        """A line of a script."""
        match self.number(4):
            case 0:
                return f"${self.word(1, 2)} = {self.name()}-{self.name()} -{self.name()} '{self.word()}'"
            case 1:
                return f"if (${self.word(1, 2)} -eq {self.number(900)}) {{ {self.name()}-{self.name()} }}"
            case 2:
                return f"    [{self.name()}.{self.name()}]::{self.name()}(${self.word(1, 2)}, {self.number(70)})"
            case _:
                return f"    # {self.word()} {self.word()} {self.word()} {self.word()}"


def filled(begin: str, length: int, more: Callable[[], str], between: str) -> str:
    """Text that begins so and goes on until it has the length."""
    parts, size = [begin], len(begin)
    while size < length:
        part = more()
        parts.append(part)
        size += len(part) + len(between)
    return between.join(parts)[: max(length, len(begin))].rstrip("\\ ")


def spread_lengths(words: Words, count: int, median: int, last: int) -> list[int]:
    """Lengths with this median and 99th percentile.

    Value number k gets the quantile k * 0.618 mod 1, so that those drawn often have the same spread as all of them.
    """
    places = (words.chance.random() + np.arange(count) * 0.6180339887498949) % 1.0
    if last > 20 * median:  # a few are long, all others short
        heavy, longer = 1.5 * median, 3.0 * median
    else:
        heavy = median * (last / median) ** 0.45
        longer = (heavy + last) / 2
    middle = [0.55 * median, 0.92 * median, median, min(1.1 * median, heavy)]
    knots = [*middle, heavy, longer, last, 1.05 * last]
    shares = [0, 0.35, 0.5, 0.65, 0.9, 0.96, 0.97, 1]
    return np.exp(np.interp(places, shares, np.log(knots))).astype(int).tolist()  # type: ignore[no-any-return]
