"""Commas, brackets, operators and characters that are wrong or missing."""

from __future__ import annotations

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.parse.mistakes.habits import parameter_hint
from cqc.compiler.parse.mistakes.place import Mistake, Place, span_at
from cqc.compiler.syntax.tokens import (
    COMPARISON,
    NAME,
    NUMBER,
    RESERVED,
    STRING,
    TYPE,
    UNIT,
    Tokens,
)

_OPERATORS = {
    "&&": ("AND", "AND", "Use `AND`."),
    "||": ("OR", "OR", "Use `OR`, or `concat(a, b)` to join texts."),
    "~": ("RLIKE", "RLIKE", "Use `RLIKE` for a regular expression; `~x` changes the bits of x."),
    "!": ("NOT", "NOT", "Use `NOT`."),
    "∧": ("AND", "AND", "Use `AND`."),
    "\N{LOGICAL OR}": ("OR", "OR", "Use `OR`."),
    "¬": ("NOT", "NOT", "Use `NOT`."),
    "≤": (COMPARISON, "<=", "Use `<=`."),
    "≥": (COMPARISON, ">=", "Use `>=`."),
    "≠": (COMPARISON, "<>", "Use `<>`."),
    "\N{MULTIPLICATION SIGN}": ("*", "*", "Use `*`."),
}
_PAIRS = {
    "=<": ("<=", "Use `<=`."),
    "=>": (">=", "Use `>=`."),
    "><": ("<>", "Use `<>`."),
}
_QUOTES = {**dict.fromkeys("\u2018\u2019\u201a", "'"), **dict.fromkeys("\u201c\u201d\u201e", '"')}
_SYMBOLS = frozenset("+-*/%(),.[]=<>&|^~") | {"==", "<=>", "::", "&&", "||"}
_BRACES = {"{": "([", "}": ")]"}
_OPENING = {")": "(", "]": "["}
_CLOSING = {"(": ")", "[": "]"}
_CLOSING_NAMES = {"(": "RPAR", "[": "RSQB"}


def wrong_operator(place: Place) -> Mistake | None:
    """`&&`, `||`, `=<` and others that belong to other languages."""
    found = _OPERATORS.get(place.kind())
    if found is not None:
        kind, text, hint = found
        diagnostic = make("CQ009", place.span(), operator=place.text(), hint=hint)
        return Mistake(diagnostic, place.replaced(kind, text))
    pair = _PAIRS.get(place.text(-1) + place.text())
    if pair is None or place.span(-1).end != place.span().start:
        return None
    meant, hint = pair
    span = place.span(-1).to(place.span())
    diagnostic = make("CQ009", span, operator=span.text, hint=hint)
    return Mistake(diagnostic, place.tokens.replaced(place.at - 1, 2, [COMPARISON], [meant]))


def foreign_comment(place: Place) -> Mistake | None:
    """`# to the end of the line`, `// to the end of the line`."""
    sign = place.text()
    if sign == "/" and place.text(1) == "/":
        sign = "//"
    if sign not in ("#", "//"):
        return None
    tokens, start = place.tokens, place.span().start
    if sign == "#" and place.at and place.span(-1).end == start and place.kind(1) == NAME:
        hint = "What of a stream counts is said in brackets: `[ROWS 10]`, `[RANGE 10 SEC]`."
        return Mistake(make("CQ009", place.span(), operator=sign, hint=hint))
    line_end = tokens.source.text.find("\n", start)
    inside = [at for at in tokens.starts[place.at :] if line_end < 0 or at < line_end]
    span = Span(tokens.source, start, start + len(sign))
    diagnostic = make("CQ009", span, operator=sign, hint="Comments begin with `--`.")
    return Mistake(diagnostic, tokens.replaced(place.at, len(inside), [], []))


def strange_character(place: Place) -> Mistake | None:
    """A character that no token begins with."""
    text = place.text()
    if len(text) != 1 or text.isalnum() or text == "_" or text in _SYMBOLS:
        return None
    shown = f"`{text}`" if text.isprintable() else f"U+{ord(text):04X}"
    hint = None
    if text in _QUOTES:
        hint = f"Use the straight quote `{_QUOTES[text]}`."
    elif (parameter := parameter_hint(place)) is not None:
        return Mistake(make("CQ016", place.span(), character=shown, hint=parameter))
    elif text == ":":
        hint = "`CAST(value AS type)` changes a type."
    elif text in _BRACES:
        return _brace(place, text)
    diagnostic = make("CQ016", place.span(), character=shown, hint=hint)
    mended = place.removed()
    # What stands between curly quotes is a text or a name; nobody should hear that there is no such column.
    is_sure = text not in _QUOTES and place.reach(mended) > place.at
    return Mistake(diagnostic, mended if is_sure else None)


def _brace(place: Place, text: str) -> Mistake:
    """Curly brackets, in place of those for groups or for windows."""
    readings = [(bracket, place.replaced(bracket, bracket)) for bracket in _BRACES[text]]
    bracket, mended = max(readings, key=lambda reading: place.reach(reading[1]))
    hint = f"Write `{bracket}`."
    diagnostic = make("CQ016", place.span(), character=f"`{text}`", hint=hint)
    return Mistake(diagnostic, mended if place.reach(mended) > place.at else None)


def text_over_lines(place: Place) -> Mistake | None:
    """A text that goes on over a line end right before the trouble: its closing quote is missing."""
    for offset in (-1, 0):
        text = place.text(offset)
        if text[:1] in ("'", '"', "`") and "\n" in text:
            start = place.span(offset).start
            span = Span(place.tokens.source, start, start + text.index("\n"))
            return Mistake(make("CQ002", span, what="a quote", hint=f"Add a `{text[0]}`."))
    return None


def extra_comma(place: Place) -> Mistake | None:
    """`SELECT a, FROM`, `f(a, )`, `a,, b`."""
    if place.kind(-1) != ",":
        return None
    if not (place.is_end or place.kind() in RESERVED or place.kind() in (",", ")")):
        return None
    mended = place.removed(-1)
    if place.reach(mended) <= place.at - 1:
        return None
    diagnostic = make(
        "CQ008",
        place.span(-1),
        found=place.found(),
        hint="Remove the comma, or name what is missing.",
    )
    return Mistake(diagnostic, mended)


def missing_comma(place: Place) -> Mistake | None:
    """Two things of a list with nothing between them."""
    if "COMMA" not in place.expected or place.is_end or place.kind() == "INTO":
        return None
    mended = place.inserted(",", ",")
    if not _goes_on(place, mended):
        return None
    before = f"{place.text(-1)} " if place.text(-1).isidentifier() else ""
    hint = f"Write `{before.rstrip()}, {place.text()}`."
    is_name = place.kind() in (NAME, UNIT, TYPE)
    if "AS" in place.expected and "FROM" in place.expected and is_name:
        hint = f"Write `{before.rstrip()}, {place.text()}`, or `{before}AS {place.text()}`."
        renamed = place.inserted("AS", "AS")
        # What follows an expression in a SELECT list is as often its new name: no second error about a column.
        mended = renamed if place.kind(1) in (",", "FROM") else mended
    after = place.span(-1).end
    span = Span(place.tokens.source, after, after)
    return Mistake(make("CQ005", span, missing="a comma", found=place.found(), hint=hint), mended)


def missing_connective(place: Place) -> Mistake | None:
    """Two conditions with neither AND nor OR between them."""
    if "AND" not in place.expected or (
        "COMPARISON" in place.expected and place.kind() == COMPARISON
    ):
        return None
    mended = place.inserted("AND", "AND")
    if place.is_end or not _goes_on(place, mended):
        return None
    diagnostic = make(
        "CQ005",
        place.span(),
        missing="AND or OR",
        found=place.found(),
        hint="Join two conditions with `AND` or `OR`.",
    )
    return Mistake(diagnostic, mended)


def _goes_on(place: Place, mended: Tokens) -> bool:
    """Whether a mended statement makes sense well beyond what was put in, or misses the like again."""
    reached = place.reach(mended)
    if reached > place.at + 2:
        return True
    next_kind = mended.kinds[reached] if reached < len(mended.kinds) else ""
    return reached == place.at + 2 and next_kind in (NAME, NUMBER, STRING)


def wrong_bracket(place: Place) -> Mistake | None:
    """A bracket that closes nothing, or one that is never closed."""
    opened = open_brackets(place.tokens.kinds[: place.at])
    kind = place.kind()
    if kind in _OPENING and (not opened or place.tokens.kinds[opened[-1]] != _OPENING[kind]):
        problem = "closes nothing"
        diagnostic = make("CQ003", place.span(), bracket=kind, problem=problem, hint="Remove it.")
        return Mistake(diagnostic, place.removed())
    if not opened:
        return None
    opening = place.tokens.kinds[opened[-1]]
    if _CLOSING_NAMES[opening] not in place.expected or closes_later(place, _CLOSING[opening]):
        return None
    return _unclosed(place, opened[-1], opening)


def closes_later(place: Place, closing: str) -> bool:
    """Whether a bracket that is open at the place is closed further on."""
    depth = 0
    for kind in place.tokens.kinds[place.at :]:
        depth += (kind == _OPENING[closing]) - (kind == closing)
        if depth < 0:
            return True
    return False


def _unclosed(place: Place, at: int, opening: str) -> Mistake | None:
    closing = _CLOSING[opening]
    mended = place.inserted(closing, closing)
    if place.reach(mended) <= place.at + 1 and not place.is_end:
        return None
    diagnostic = make(
        "CQ003",
        span_at(place.tokens, at),
        bracket=opening,
        problem="is never closed",
        hint=f"Add `{closing}` before {place.found()}.",
    )
    return Mistake(diagnostic, mended)


def open_brackets(kinds: list[str]) -> list[int]:
    """The numbers of the brackets that are open after these tokens."""
    opened: list[int] = []
    for at, kind in enumerate(kinds):
        if kind in _CLOSING:
            opened.append(at)
        elif kind in _OPENING and opened:
            opened.pop()
    return opened
