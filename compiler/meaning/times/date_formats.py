"""Patterns by which date_format and from_unixtime write times, in the letters of Spark (and Java).

y M L d D Q q E F G   year, month, day, day of the year, quarter, day of the week, day in its row of seven, era
H h k K m s S a       hour (0-23, 1-12, 1-24, 0-11), minute, second, digits of the fraction, AM or PM
V z O X x Z           the zone, which is always UTC
'text' ''             text as it stands, a quote; [ and ] mark what may be left out when texts are read
"""

from __future__ import annotations

import re

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.times.time_patterns import each_piece

_FIELD = re.compile(r"''|'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']")
_MOST = {
    **dict.fromkeys("GMLQqEz", 4),
    **dict.fromkeys("dhKkHms", 2),
    **dict.fromkeys("Fa", 1),
    **dict.fromkeys("XxZ", 5),
    "D": 3,
    "y": 6,
    "S": 9,
}
_UTC = {
    "VV": "UTC",
    **dict.fromkeys(("z", "zz", "zzz"), "UTC"),
    "zzzz": "Coordinated Universal Time",
    **dict.fromkeys(("O", "OOOO", "ZZZZ"), "GMT"),
    **dict.fromkeys(("X", "XX", "XXX", "XXXX", "XXXXX", "ZZZZZ"), "Z"),
    **dict.fromkeys(("xx", "xxxx", "Z", "ZZ", "ZZZ"), "+0000"),
    **dict.fromkeys(("xxx", "xxxxx"), "+00:00"),
    "x": "+00",
}


@record
class FormatPiece:
    """A part of a pattern: a letter with how often it stands there, or text as it stands (`letter` is '')."""

    letter: str
    count: int = 0
    text: str = ""


def format_pieces(pattern: str) -> tuple[FormatPiece, ...] | str:
    """The parts of a pattern, or what is wrong with it."""
    pieces = each_piece(pattern, _FIELD, _piece)
    if isinstance(pieces, str):
        return pieces
    has_era = any(piece.letter == "G" for piece in pieces)
    return tuple(
        FormatPiece("Y", piece.count) if has_era and piece.letter == "y" else piece
        for piece in pieces
        if piece.letter or piece.text
    )


def _piece(text: str, letter: str | None) -> FormatPiece | str:
    if letter is None:
        if text in ("[", "]"):
            return FormatPiece("")
        if text in ("{", "}", "#"):
            return f"{text} has no meaning in it; write '{text}' in quotes"
        if text.startswith("'"):
            return FormatPiece("", text=text[1:-1].replace("''", "'") or "'")
        return FormatPiece("", text=text)
    if text in _UTC:
        return FormatPiece("", text=_UTC[text])
    if len(text) > _MOST.get(letter, 0):
        return f"{text} is not one of yyyy MM dd HH mm ss SSS a EEE D Q X and their kin"
    return FormatPiece(letter, len(text))
