"""Words that are misspelt, reserved, of the wrong kind, or of another SQL dialect."""

from __future__ import annotations

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.suggest import closest, edit_distance
from cqc.compiler.meaning.times.durations import UNITS
from cqc.compiler.meaning.types import TYPE_NAMES
from cqc.compiler.parse.mistakes.habits import NAME_AND_TYPE
from cqc.compiler.parse.mistakes.place import Mistake, Place, span_at
from cqc.compiler.syntax.tokens import (
    COMPARISON,
    CONTEXTUAL,
    FOREIGN,
    NAME,
    NUMBER,
    RESERVED,
    STRING,
    TYPE,
    UNIT,
    Tokens,
    kind_of_word,
    words,
)

_OPERATORS = frozenset(
    {COMPARISON, "=", ".", "BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "IS", "NOT"}
)
_UNITS_SHOWN = ("US", "MS", "SEC", "MIN", "HOUR", "DAY")
_TYPES_SHOWN = ("BIGINT", "DOUBLE", "STRING", "BOOLEAN", "TIMESTAMP", "DATE")
_OUTER_JOINS = words("NATURAL SEMI ANTI ASOF LATERAL")
_AFTER_WHICH_ALIASES = frozenset({NAME, TYPE, UNIT, "]"})
_HINTS = {
    "INTERSECT": "Join the two, or write `WHERE EXISTS (SELECT ...)`.",
    **dict.fromkeys(("EXCEPT", "MINUS"), "Write `WHERE NOT EXISTS (SELECT ...)`."),
    **dict.fromkeys(
        _OUTER_JOINS, "Write `JOIN`, `LEFT JOIN`, `RIGHT JOIN` or `FULL JOIN` with ON."
    ),
    "SEMI": "Write `WHERE EXISTS (SELECT ...)`.",
    "ANTI": "Write `WHERE NOT EXISTS (SELECT ...)`.",
    **dict.fromkeys(
        ("INSERT", "UPDATE", "DELETE"), "Streams are read only; use `CREATE` or `SELECT`."
    ),
    "ALTER": "Declare the stream as it should be.",
    "DROP": "A running engine takes `DROP QUERY name` and `DROP VIEW name`.",
    "INTO": "Sinks stand after the name of a query: `CREATE QUERY name INTO sink AS SELECT ...`.",
    "USING": "Write the condition with `ON`.",
    "OFFSET": "`LIMIT n` keeps the first n rows.",
    "OVER": "Use `BEGIN ... END ... EVERY` for windows.",
    "EXISTS": "Write `WHERE EXISTS (SELECT ...)`.",
    "LATERAL": "Let the inner query give out what it is joined by: `FROM s, (SELECT ...) AS x WHERE s.k = x.k`.",
    "WITHIN": "Write `MAXWINDOW 6 SEC`.",
    "TOP": "`LIMIT n` keeps the first n rows.",
    "ALL": "Leave it out: rows are kept unless DISTINCT removes them.",
    **dict.fromkeys(("PRIMARY", "DEFAULT"), NAME_AND_TYPE),
}
_AFTER_SELECT = words("TOP ALL")
_FOREIGN = FOREIGN | {"ALL", "DROP", "INTO"}  # where they are not what the language has of them


def misspelt_word(place: Place) -> Mistake | None:
    """A word close to a keyword, unit or type that would fit; it may have been taken for a name one token earlier."""
    found = [_misspelt_at(place, offset) for offset in (0, -1)]
    best = max(found, key=lambda each: each[0] if each else -1)
    return best[1] if best else None


def joined_words(place: Place) -> Mistake | None:
    """`GROUPBY x`."""
    for offset in (
        0,
        -1,
    ):  # after a condition it does not fit, after a stream it reads as its alias
        word = place.text(offset).upper()
        if word not in ("GROUPBY", "ORDERBY"):
            continue
        apart = [word[:-2], "BY"]
        mended = place.tokens.replaced(place.at + offset, 1, apart, apart)
        if place.reach(mended) > place.at:
            hint = f"Write `{' '.join(apart)}`."
            return Mistake(make("CQ004", place.span(offset), word=word, hint=hint), mended)
    return None


def _misspelt_at(place: Place, offset: int) -> tuple[int, Mistake] | None:
    word, kind = place.text(offset), place.kind(offset)
    if not word.isidentifier() or kind in RESERVED or place.at + offset < 0:
        return None
    expected = place.expected if offset == 0 else place.expected_before()
    # Of two words as close, the one that begins alike is the likelier.
    candidates = sorted(_words(expected), key=lambda each: each[0] != word[0].upper())
    meant = closest(word, candidates)
    if meant is None or not _is_likely(word.upper(), meant):
        return None
    mended = place.replaced(kind_of_word(meant), meant, offset)
    reached = place.reach(mended)
    if reached <= place.at:
        return None
    span, hint = place.span(offset), f"Did you mean `{meant}`?"
    if meant in UNITS and "UNIT" in expected:
        return reached, Mistake(
            make("CQ019", span, word=word, kind="unit of time", hint=hint), mended
        )
    if meant in TYPE_NAMES and "TYPE" in expected:
        return reached, Mistake(make("CQ019", span, word=word, kind="type", hint=hint), mended)
    return reached, Mistake(make("CQ004", span, word=word, hint=hint), mended)


def _is_likely(word: str, meant: str) -> bool:
    """Whether a short word is close enough: two letters exchanged, the last left out, or one edit in up to four."""
    if len(word) < 3:
        return word != meant and (sorted(word) == sorted(meant) or word == meant[:-1])
    return word != meant and (len(word) > 4 or edit_distance(word, meant, 2) == 1)


def _words(expected: frozenset[str]) -> list[str]:
    """The words that the expected tokens can be written with."""
    found = sorted(
        each
        for each in expected
        if each in RESERVED or each in CONTEXTUAL or each in ("ASC", "DESC")
    )
    if "LIKE" in expected:
        found += ["ILIKE", "RLIKE"]
    if "UNIT" in expected:
        found += list(UNITS)
    if "TYPE" in expected:
        found += list(TYPE_NAMES)
    return found


_OTHER_TYPES = {
    **dict.fromkeys(("DATETIME", "TIMESTAMPTZ", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), "TIMESTAMP"),
    **dict.fromkeys(("CHAR", "NVARCHAR", "CLOB", "UUID", "JSON", "INET", "KEYWORD"), "STRING"),
    **dict.fromkeys(("LONG", "INT64", "SMALLINT", "TINYINT", "UNSIGNED", "SERIAL"), "BIGINT"),
    **dict.fromkeys(("FLOAT64", "NUMBER"), "DOUBLE"),
    "BOOL": "BOOLEAN",
}


def unknown_type_or_unit(place: Place) -> Mistake | None:
    """A word that is nothing like any type or unit, where one of them must be."""
    word = place.text()
    if not word.isidentifier() or place.kind() in RESERVED:
        return None
    if "TYPE" in place.expected:
        other = _OTHER_TYPES.get(word.upper())
        hint = f"Types are {', '.join(_TYPES_SHOWN)}." if other is None else f"Write `{other}`."
        diagnostic = make("CQ019", place.span(), word=word, kind="type", hint=hint)
        return Mistake(diagnostic, place.replaced(TYPE, word))
    is_operand = place.kind(1) in _OPERATORS
    if "UNIT" in place.expected and place.kind(-1) in (NUMBER, STRING) and not is_operand:
        mended = place.replaced(UNIT, "SEC")
        if place.reach(mended) > place.at + 1:
            hint = f"Units are {', '.join(_UNITS_SHOWN)}."
            diagnostic = make("CQ019", place.span(), word=word, kind="unit of time", hint=hint)
            return Mistake(diagnostic, mended)
    return None


def reserved_name(place: Place) -> Mistake | None:
    """A reserved word where a name would make sense of the statement."""
    if place.kind() not in RESERVED or "NAME" not in place.expected:
        return None
    mended = place.replaced(NAME, place.text())
    reached = place.reach(mended)
    # `FROM WHERE x > 1` must not become a stream called WHERE: the next token alone proves nothing.
    if reached <= min(place.at + 2, len(mended.kinds)):
        after = mended.kinds[reached] if reached < len(mended.kinds) else ""
        if reached < place.at + 2 or after not in RESERVED:
            return None
    hint = f'Write `"{place.text()}"` in double quotes, or choose another name.'
    return Mistake(make("CQ014", place.span(), word=place.text(), hint=hint), mended)


def wrong_quotes(place: Place) -> Mistake | None:
    """`format = "csv"` where a text is meant, `AS 'rate'` where a name is."""
    text, inner = place.text(), place.text()[1:-1]
    if text.startswith('"') and "STRING" in place.expected:
        literal = "'" + inner.replace("'", "''") + "'"
        diagnostic = make(
            "CQ010",
            place.span(),
            found=place.found(),
            actual="a name",
            wanted="a text",
            hint=f"Write `{literal}`: texts have single quotes.",
        )
        return Mistake(diagnostic, place.replaced(STRING, literal))
    if place.kind() != STRING or "NAME" not in place.expected or "STRING" in place.expected:
        return None
    name = '"' + inner.replace("''", "'").replace('"', '""') + '"'
    diagnostic = make(
        "CQ010",
        place.span(),
        found=place.found(),
        actual="a text",
        wanted="a name",
        hint=f"Write `{name}`: names have double quotes or none.",
    )
    mended = place.replaced(NAME, name)
    return Mistake(diagnostic, mended) if place.reach(mended) > place.at else None


def foreign_construct(place: Place) -> Mistake | None:
    """UNION, outer joins, sub-queries and other SQL that the language leaves out."""
    for offset in (0, 1):
        if place.kind(offset) == "SELECT" and place.kind(offset - 1) == "(":
            if place.kind(offset - 2) == "LATERAL":
                hint = _HINTS["LATERAL"]
                return Mistake(make("CQ018", place.span(offset - 2), what="LATERAL", hint=hint))
            hint = "Name it in FROM, `(SELECT ...) AS x`, and compare with its columns."
            what = "a query inside an expression"
            return Mistake(make("CQ018", place.span(offset), what=what, hint=hint))
    if place.kind(-1) == "UNION" and place.expected == {"ALL"}:
        hint = "Write `UNION ALL`; SELECT DISTINCT over it, with BEGIN-END, leaves out what comes twice."
        return Mistake(make("CQ018", place.span(-1), what="UNION without ALL", hint=hint))
    for offset in (-2, -1, 0):
        if place.kind(offset) in _FOREIGN and not _is_named(place.tokens, place.at + offset):
            # One that was read as a name counts only where a name is unlikely: right after another one.
            word, before = place.kind(offset), place.kind(offset - 1)
            is_modifier = word in _AFTER_SELECT and before in ("SELECT", "(")
            is_modifier |= word == "DROP" and not before
            if offset < 0 and before not in _AFTER_WHICH_ALIASES and not is_modifier:
                continue
            diagnostic = make(
                "CQ018", place.span(offset), what=word, hint=_foreign_hint(place, offset)
            )
            return Mistake(diagnostic)
    return None


def _foreign_hint(place: Place, offset: int) -> str | None:
    """What to write instead of a word of another dialect, with the names that stand around it."""
    word, after = place.kind(offset), place.kind(offset + 1)
    if word == "WITHIN" and after == NUMBER:
        return f"Write `MAXWINDOW {place.text(offset + 1)} {place.text(offset + 2)}` after the conditions."
    if word == "WITHIN" and after == "GROUP":
        return None
    if word == "EXCEPT" and place.kind(offset - 1) == "*":
        return "Name the columns you want."
    if word == "USING" and (after, place.kind(offset + 3)) == ("(", ")"):
        column = place.text(offset + 2)
        return f"Write the condition with `ON`, as in `ON a.{column} = b.{column}`."
    if (
        word == "INSERT"
        and "SELECT" in place.tokens.kinds
        and place.text(offset + 1).upper() == "INTO"
    ):
        return f"Write `CREATE QUERY {place.text(offset + 2)} AS SELECT ...`."
    return _HINTS.get(word)


def _is_named(tokens: Tokens, at: int) -> bool:
    """Whether a word can only be meant as a name: `AS left`, `a.left`, `left.a`, `"left"`."""
    before = tokens.kinds[at - 1] if at else ""
    after = tokens.kinds[at + 1] if at + 1 < len(tokens.kinds) else ""
    return before in ("AS", ".", "FOR") or after == "." or not tokens.texts[at].isidentifier()


def has_outer_join(kinds: list[str]) -> bool:
    """Whether a statement may have an outer join."""
    return not _OUTER_JOINS.isdisjoint(kinds)


def outer_join(tokens: Tokens) -> Mistake | None:
    """`a ASOF JOIN b`, which would parse as a join of `a` under the alias ASOF."""
    for at in range(2, len(tokens.kinds) - 1):
        if tokens.kinds[at] in _OUTER_JOINS and tokens.kinds[at + 1] in ("JOIN", "INNER", "CROSS"):
            is_item = tokens.kinds[at - 1] in ("FROM", ",", "JOIN")
            if not is_item and not _is_named(tokens, at):
                hint = f"{_HINTS[tokens.kinds[at]]} (As an alias it takes AS.)"
                what = f"{tokens.kinds[at]} JOIN"
                return Mistake(make("CQ018", span_at(tokens, at), what=what, hint=hint))
    return None
