"""How times are written in data: `WITH (timestamp = ..., zone = ...)`.

A form is a unit in which numbers count since the epoch, or a pattern of letters as Spark's `to_timestamp` has them:

    yyyy MM dd HH mm ss SSS   year, month, day, hour, minute, second, parts of a second (one S for each digit at most, up to nine)
    yy DDD                    a year from 2000 to 2099, the day of the year
    M d H h m s               the same with one digit where one is enough; h counts to 12, with `a` for AM or PM
    MMM MMMM EEE EEEE         names of months and days in English
    X XX XXX Z                an offset: Z or +01, +0100, +01:00; `Z` writes +0100
    'text' ''                 text as it stands, a quote
    [ ... ]                   what may be left out
"""

from __future__ import annotations

import re
from datetime import timedelta, timezone
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from cqc.compiler.diagnostics.record import record

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import tzinfo

Made = TypeVar("Made")

UNITS_US = {"seconds": 1_000_000, "millis": 1_000, "micros": 1}  # by the word that names it
MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
MOST_FRACTION = 9

_FIELD = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']")
_NUMBERS = {"d": "day", "H": "hour", "h": "hour12", "m": "minute", "s": "second"}
_OPTIONAL = {"[": "(?:", "]": ")?"}
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")


@record
class Piece:
    """A part of a pattern: `name` is what it says (None for text as it stands), `regex` how it is written (RE2)."""

    name: str | None
    regex: str


def pieces_of(pattern: str, *, needs_year: bool = True) -> list[Piece] | str:
    """The parts of a pattern, or what is wrong with it. Without a year (`needs_year` False) a time is one of 1970."""
    pieces = each_piece(pattern, _FIELD, _piece)
    if isinstance(pieces, str):
        return pieces
    opened = [piece.regex for piece in pieces if piece.name is None]
    if opened.count("(?:") != opened.count(")?"):
        return "a bracket is not closed"
    names = [piece.name for piece in pieces if piece.name is not None]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        return f"it has the {twice} twice"
    if needs_year and "year" not in names and "year2" not in names:
        return "it has no year (yyyy)"
    if "hour12" in names and "half" not in names:
        return "h needs AM or PM (a); H counts to 23"
    return pieces


def each_piece(
    pattern: str, field: re.Pattern[str], make: Callable[[str, str | None], Made | str]
) -> list[Made] | str:
    """What `make` makes of the text and the letter (None: it is not one letter repeated) of each field, or what is wrong."""
    pieces: list[Made] = []
    at = 0
    while at < len(pattern):
        found = field.match(pattern, at)
        if found is None:
            return "a quote is not closed"
        at = found.end()
        piece = make(found[0], found[1])
        if isinstance(piece, str):
            return piece
        pieces.append(piece)
    return pieces


def _piece(text: str, letter: str | None) -> Piece | str:
    count = len(text)
    if text in _OPTIONAL:
        return Piece(None, _OPTIONAL[text])
    if letter is None:
        plain = text[1:-1].replace("''", "'") or "'" if text.startswith("'") else text
        return Piece(None, re.escape(plain))
    if letter in "yu" and count == 4:
        return Piece("year", r"\d{4}")
    if letter == "y" and count == 2:
        return Piece("year2", r"\d{2}")
    if letter == "D" and count == 3:
        return Piece("day_of_year", r"\d{3}")
    if letter == "M" and count in (3, 4):
        names = [name[:3] if count == 3 else name for name in MONTHS]
        return Piece("month", f"(?i:{'|'.join(names)})")
    if letter == "E" and count <= 4:
        names = [name[:3] if count < 4 else name for name in DAYS]
        return Piece("weekday", f"(?i:{'|'.join(names)})")
    if letter == "M" and count <= 2:
        return Piece("month", r"\d{2}" if count == 2 else r"\d{1,2}")
    if letter in _NUMBERS and count <= 2:
        return Piece(_NUMBERS[letter], r"\d{2}" if count == 2 else r"\d{1,2}")
    if letter == "S" and count <= MOST_FRACTION:
        return Piece("fraction", rf"\d{{1,{count}}}")
    if letter == "a" and count == 1:
        return Piece("half", "(?i:AM|PM)")
    if letter in "Xx" and count <= 3:
        zero = "Z|" if letter == "X" else ""
        form = {1: r"\d{2}(?:\d{2})?", 2: r"\d{4}", 3: r"\d{2}:\d{2}"}[count]
        return Piece("offset", rf"{zero}[+-]{form}")
    if letter == "Z" and count <= 3:
        return Piece("offset", r"[+-]\d{4}")
    return f"{text} is not one of yyyy MM dd HH mm ss SSS a EEE X"


def zone_named(name: str) -> tzinfo | None:
    """The zone of a name such as Europe/Berlin, UTC or +01:00; None where there is none."""
    offset = _OFFSET.fullmatch(name)
    if offset is not None:
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes > 18 * 60 or int(offset[3]) > 59:
            return None
        return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo("UTC" if name.upper() in ("Z", "UTC") else name)
    except (KeyError, ValueError, OSError):  # no such zone, a path, a folder
        return None
