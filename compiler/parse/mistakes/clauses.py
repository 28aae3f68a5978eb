"""Clauses that are empty, incomplete, given twice, or not there at all."""

from __future__ import annotations

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.parse.mistakes.place import CLAUSES, Mistake, Place, span_at
from cqc.compiler.syntax.tokens import NUMBER, STRING, Tokens

_NEEDS = {
    "LIMIT": ("a number of rows", "`LIMIT 10`"),
    "MAXWINDOW": ("a duration", "`MAXWINDOW 6 SEC`"),
    "EVERY": ("a duration", "`EVERY 1 MINUTE`"),
    "RANGE": ("a duration", "`[RANGE 5 MINUTES]`"),
    "ROWS": ("a number of rows", "`[ROWS 10]`"),
    "WHERE": ("a condition", "`WHERE x > 1`"),
    "WINDOW": ("a condition on event times", "`WINDOW b.ts > a.ts`"),
    "HAVING": ("a condition", "`HAVING COUNT(*) > 1`"),
    "ON": ("a condition", "`ON a.id = b.id`"),
    "BEGIN": ("an instant", "`BEGIN NOW - 10 MINUTES END NOW`"),
    "AFTER": ("an instant", "`BEGIN AFTER NOW - 10 MINUTES END NOW`"),
    "END": ("an instant", "`END NOW`"),
    "BEFORE": ("an instant", "`END BEFORE NOW`"),
    "BY": ("an expression", "`GROUP BY x`"),
    "FROM": ("the name of a stream or table", "`FROM trades`"),
    "JOIN": ("the name of a stream or table", "`JOIN trades ON a.id = b.id`"),
}

# Words that are names elsewhere begin a clause only after these.
_FOLLOWS = {
    "RANGE": ("[",),
    "ROWS": ("[",),
    "AFTER": ("BEGIN",),
    "BEFORE": ("END",),
    "BY": ("GROUP", "ORDER"),
}


def empty_select_list(place: Place) -> Mistake | None:
    """`SELECT FROM b`."""
    if place.kind(-1) not in ("SELECT", "DISTINCT") or not (place.is_end or place.kind() == "FROM"):
        return None
    hint = "Name the columns you want, or write `SELECT *`."
    diagnostic = make("CQ011", place.span(-1), hint=hint)
    return Mistake(diagnostic, None if place.is_end else place.inserted("*", "*"))


def missing_from(place: Place) -> Mistake | None:
    """A SELECT list with no FROM after it."""
    if "FROM" not in place.expected or "AS" not in place.expected:
        return None
    if not place.is_end and place.kind() not in CLAUSES:
        return None
    return Mistake(make("CQ013", place.span(), hint="Add `FROM` and the streams to read."))


def incomplete_clause(place: Place) -> Mistake | None:
    """A keyword without what must follow it: `LIMIT` without a number, `GROUP` without BY, `MAXWINDOW 6`."""
    if place.expected == {"BY"}:
        return _missing_by(place)
    if "UNIT" in place.expected and place.kind(-1) in (NUMBER, STRING):
        return _missing_unit(place)
    word, before = place.kind(-1), place.kind(-2)
    if word not in _NEEDS or word in place.expected or before not in _FOLLOWS.get(word, (before,)):
        return None
    what, example = _NEEDS[word]
    shown = word if word != "BY" else f"{before} BY"
    example = example if word != "BY" else f"`{before} BY x`"
    return Mistake(
        make("CQ017", place.span(-1), clause=shown, what=what, hint=f"For example {example}.")
    )


def _missing_by(place: Place) -> Mistake:
    word = place.kind(-1)
    mended = place.inserted("BY", "BY")
    diagnostic = make(
        "CQ017", place.span(-1), clause=word, what="BY after it", hint=f"Write `{word} BY`."
    )
    return Mistake(diagnostic, mended if place.reach(mended) > place.at + 1 else None)


def _missing_unit(place: Place) -> Mistake | None:
    # In an expression a number alone is whole; only where nothing but a unit fits is one missing.
    if place.expected != {"UNIT"}:
        return None
    number, *unit = place.text(-1).strip("'").split() or ["5"]
    hint = f"Write `{number} SEC`, `MIN`, `HOUR` or another unit."
    if unit:  # INTERVAL '5 minutes'
        hint = f"Write `INTERVAL '{number}' {' '.join(unit).upper()}`."
    return Mistake(make("CQ017", place.span(-1), clause="the duration", what="a unit", hint=hint))


def begin_without_end(place: Place) -> Mistake | None:
    """BEGIN without END, END without BEGIN, CASE without END."""
    kinds = place.tokens.kinds[: place.at]
    if place.kind() == "END" and "WHERE" in place.expected and "BEGIN" not in kinds:
        hint = "For example `BEGIN NOW - 10 MINUTES END NOW`."
        return Mistake(
            make("CQ017", place.span(), clause="END", what="a BEGIN before it", hint=hint)
        )
    if "END" not in place.expected or not (place.is_end or place.kind() in CLAUSES | {"FROM", ")"}):
        return None
    for at in range(place.at - 1, -1, -1):
        if kinds[at] in ("BEGIN", "CASE"):
            hint = "For example `END NOW`." if kinds[at] == "BEGIN" else "Close it with `END`."
            span = span_at(place.tokens, at)
            return Mistake(make("CQ017", span, clause=kinds[at], what="an END", hint=hint))
    return None


def repeated_clause(tokens: Tokens, keyword: str, at: int) -> Mistake:
    """A clause that was already there; the statement parses, so there is nothing to mend."""
    first = tokens.kinds.index(keyword.split()[0])
    last = at + len(keyword.split()) - 1
    span = Span(tokens.source, tokens.starts[at], tokens.ends[last])
    hint = None
    if keyword in ("WHERE", "WINDOW", "HAVING"):
        hint = "Join the conditions with `AND`."
    line = tokens.source.line_and_column(tokens.starts[first])[0]
    shown = "BEGIN-END" if keyword == "BEGIN" else keyword
    detail = f"The first {keyword} is in line {line}."
    return Mistake(make("CQ007", span, clause=shown, hint=hint, detail=detail))
