"""Phrases that other systems have and this language has not, each with what is written here instead.

A phrase is known by its words, wherever the place of the trouble falls among them: `EMIT` is read as an alias before `CHANGES` does
not fit. Where the rest makes sense without the phrase, or with another word for it, that is what is checked further.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.record import record
from cqc.compiler.diagnostics.suggest import NOW_HINT
from cqc.compiler.meaning.types import TYPE_NAMES
from cqc.compiler.parse.mistakes.place import Mistake, span_at
from cqc.compiler.syntax.tokens import NAME, NUMBER, STRING, TYPE

if TYPE_CHECKING:
    from cqc.compiler.parse.mistakes.place import Place
    from cqc.compiler.syntax.tokens import Tokens

_WINDOW = "`BEGIN AFTER NOW - 1 MINUTE END NOW EVERY 1 MINUTE`"
_NEXT = "`FROM a, b WHERE a.k = b.k WINDOW b.ts > a.ts MAXWINDOW 1 MINUTE`"


@record
class Habit:
    """A phrase, what is written instead, and what is put in its place to go on: None where nobody can say."""

    words: str
    hint: str
    instead: tuple[tuple[str, str], ...] | None = None  # kinds with texts


_LEAVE_OUT: tuple[tuple[str, str], ...] = ()
_MATCHES = (("RLIKE", "RLIKE"),)
NAME_AND_TYPE = "A column has a name and a type, nothing else."
_AS_ALWAYS = "Leave it out: a query without BEGIN-END delivers each result as it happens."
# Anywhere in a statement.
PHRASES = (
    Habit("EMIT CHANGES", _AS_ALWAYS, _LEAVE_OUT),
    Habit("EMIT FINAL", f"Leave it out: with {_WINDOW} each window is answered once.", _LEAVE_OUT),
    Habit("REGEXP", "Write `RLIKE`.", _MATCHES),
    Habit("SIMILAR TO", "Write `RLIKE` with a regular expression, or `LIKE`.", _MATCHES),
    Habit("MATCHES", "Write `RLIKE`.", _MATCHES),
    Habit(
        "GLOB",
        "Write `LIKE`, with `%` for any text and `_` for one character.",
        (("LIKE", "LIKE"),),
    ),
    Habit("FETCH FIRST", "Write `LIMIT n`."),
    Habit("FETCH NEXT", "Write `LIMIT n`."),
    Habit("MATCH_RECOGNIZE (", f"What comes after what is a join: {_NEXT}."),
    Habit("PATTERN [", f"What comes after what is a join: {_NEXT}."),
    Habit("FOR SYSTEM_TIME", "A table is read once, at the start: join it by its name alone."),
    Habit(
        "AS OF TIMESTAMP",
        "Ask about an instant with `BEGIN ... END`, or `cqc invoke --at INSTANT`.",
    ),
    Habit(
        "GRACE PERIOD",
        "How late rows may be the stream says: `WATERMARK FOR ts AS ts - INTERVAL '2' SECOND`.",
    ),
    Habit("CREATE MATERIALIZED VIEW", "Write `CREATE QUERY name AS SELECT ...`."),
    Habit("CREATE SOURCE", "Write `CREATE STREAM name (columns) WITH (...)`."),
    Habit(
        "CREATE OR REPLACE",
        "Leave out `OR REPLACE`: a changed program file replaces what it said before.",
    ),
    Habit("IF NOT EXISTS", "Leave it out: a program says what there is.", _LEAVE_OUT),
    Habit("IF EXISTS", "Leave it out: a program says what there is.", _LEAVE_OUT),
)
# At the beginning of a statement.
_SHELL = "`cqc shell` has `\\d` for that; `cqc queries` lists the queries of a service."
_FOLDER = "Name all files, or their folder, in the command: together they are one program."
_NOTHING_TO_COMMIT = "There are no transactions: a program only says what is asked."
_STATEMENTS = {
    "EXPLAIN": "`cqc explain PROGRAM` explains, and `\\plan` in `cqc shell`.",
    **dict.fromkeys(("SHOW", "DESCRIBE", "DESC", "LIST"), _SHELL),
    **dict.fromkeys(("INCLUDE", "IMPORT", "SOURCE", "RUN", "LOAD"), _FOLDER),
    **dict.fromkeys(("COMMIT", "ROLLBACK", "START"), _NOTHING_TO_COMMIT),
    **dict.fromkeys(("USE", "DATABASE", "CATALOG"), "There are no databases: leave it out."),
    **dict.fromkeys(("GRANT", "REVOKE"), "Tokens say who may do what: see `cqc serve --help`."),
    **dict.fromkeys(
        ("TERMINATE", "PAUSE", "RESUME"), "`cqc unregister NAME` ends a query of a service."
    ),
    "PRINT": "`cqc watch` follows the results of a service.",
    "DECLARE": "Write the value itself where it is used.",
    **dict.fromkeys(
        ("MERGE", "TRUNCATE", "COPY"), "Streams are read only; use `CREATE` or `SELECT`."
    ),
}
_PARAMETERS = ("$", "?", "@", ":")
_NO_PARAMETER = "Write the value itself; a Python program puts it into the text that it registers."


def foreign_habit(place: Place) -> Mistake | None:
    """A phrase of another system at the place, or just before it."""
    first = place.text().upper()
    if place.at == 0 and first in _STATEMENTS:
        return Mistake(make("CQ018", place.span(), what=first, hint=_STATEMENTS[first]))
    return _phrase(place) or next(filter(None, (known(place) for known in _KNOWN)), None)


def _phrase(place: Place) -> Mistake | None:
    for habit in PHRASES:
        wanted = habit.words.split()
        for at in range(max(place.at - len(wanted) - 1, 0), place.at + 1):
            if not _begins(place.tokens, at, wanted) or at + len(wanted) <= place.at - 1:
                continue
            words = [word for word in wanted if word.isidentifier()]
            span = span_at(place.tokens, at).to(span_at(place.tokens, at + len(words) - 1))
            diagnostic = make("CQ018", span, what=" ".join(words), hint=habit.hint)
            if habit.instead is None:
                return Mistake(diagnostic)
            kinds, texts = [each[0] for each in habit.instead], [each[1] for each in habit.instead]
            mended = place.tokens.replaced(at, len(wanted), kinds, texts)
            return Mistake(diagnostic, mended)
    return None


def _begins(tokens: Tokens, at: int, wanted: list[str]) -> bool:
    """Whether the tokens from `at` on are these words, and no quoted names."""
    found = tokens.texts[at : at + len(wanted)]
    return [each.upper() for each in found] == wanted and (
        len(wanted) > 1 or _is_operator(tokens, at)
    )


def _is_operator(tokens: Tokens, at: int) -> bool:
    """Whether a word stands between a value and a text, as REGEXP does; else it may well be a name."""
    before = tokens.kinds[at - 1] if at else ""
    after = tokens.kinds[at + 1] if at + 1 < len(tokens.kinds) else ""
    return before in (NAME, ")", "NOT", STRING) and after in (STRING, NAME, NUMBER, "(")


def _call_of_now(place: Place) -> Mistake | None:
    """`now()`."""
    if (place.kind(-1), place.kind(), place.kind(1)) != ("NOW", "(", ")"):
        return None
    span = place.span(-1).to(place.span(1))
    diagnostic = make("CQ018", span, what="NOW()", hint=NOW_HINT)
    return Mistake(diagnostic, place.tokens.replaced(place.at, 2, [], []))


def _length(place: Place) -> Mistake | None:
    """`VARCHAR(10)`, `TIMESTAMP(3)`."""
    if place.kind() != "(" or place.kind(-1) not in (TYPE, "TIMESTAMP", "DATE"):
        return None
    if (place.kind(1), place.kind(2)) != (NUMBER, ")"):
        return None
    span = place.span().to(place.span(2))
    name = place.text(-1).upper()
    hint = (
        f"Types have no length: write `{TYPE_NAMES[name].value if name in TYPE_NAMES else name}`."
    )
    diagnostic = make("CQ018", span, what="a length", hint=hint)
    return Mistake(diagnostic, place.tokens.replaced(place.at, 3, [], []))


def _made_by_select(place: Place) -> Mistake | None:
    """`CREATE STREAM q AS SELECT`."""
    kinds = place.tokens.kinds
    if place.at != 3 or kinds[:2] not in (["CREATE", "STREAM"], ["CREATE", "TABLE"]):
        return None
    if (place.kind(), place.kind(1)) != ("AS", "SELECT"):
        return None
    hint = f"Write `CREATE QUERY {place.text(-1)} AS SELECT ...`."
    what = f"CREATE {kinds[1]} AS SELECT"
    mended = place.tokens.replaced(1, 1, ["QUERY"], ["QUERY"])
    return Mistake(make("CQ018", span_at(place.tokens, 1), what=what, hint=hint), mended)


def _time_zone(place: Place) -> Mistake | None:
    """`ts AT TIME ZONE 'Europe/Zurich'`."""
    wanted = ["AT", "TIME", "ZONE"]
    for at in range(max(place.at - 2, 1), place.at + 1):
        if not _begins(place.tokens, at, wanted) or place.tokens.kinds[at + 3 : at + 4] != [STRING]:
            continue
        zone, time = place.tokens.texts[at + 3], _name_before(place.tokens, at) or "ts"
        hint = f"Write `from_utc_timestamp({time}, {zone})`."
        span = span_at(place.tokens, at).to(span_at(place.tokens, at + 2))
        diagnostic = make("CQ018", span, what=" ".join(wanted), hint=hint)
        return Mistake(diagnostic, place.tokens.replaced(at, 4, [], []))
    return None


def _name_before(tokens: Tokens, at: int) -> str:
    """The name that ends before a token, with the stream that it is of; nothing where something else does."""
    if tokens.kinds[at - 1] != NAME:
        return ""
    begin = at - 3 if tokens.kinds[max(at - 3, 0) : at - 1] == [NAME, "."] else at - 1
    return "".join(tokens.texts[begin:at])


def _null_test(place: Place) -> Mistake | None:
    """`x NOT NULL`, `x ISNULL`, `x NOTNULL`."""
    word, at, count = place.text().upper(), place.at, 1
    if (place.kind(-1), place.kind()) == ("NOT", "NULL") and "LIKE" in place.expected:
        word, at, count = "NOT NULL", place.at - 1, 2
    elif word not in ("ISNULL", "NOTNULL") or not {"IS", "LIKE"} <= place.expected:
        return None
    meant = ["IS", "NULL"] if word == "ISNULL" else ["IS", "NOT", "NULL"]
    mended = place.tokens.replaced(at, count, meant, meant)
    if place.reach(mended) <= place.at:
        return None
    value = _name_before(place.tokens, at)
    hint = f"Write `{' '.join([*([value] if value else []), *meant])}`."
    span = span_at(place.tokens, at).to(place.span())
    return Mistake(make("CQ018", span, what=word, hint=hint), mended)


def _key(place: Place) -> Mistake | None:
    """`id INT KEY`."""
    if place.text().upper() != "KEY" or place.kind(-1) not in (TYPE, "TIMESTAMP", "DATE"):
        return None
    return Mistake(make("CQ018", place.span(), what="KEY", hint=NAME_AND_TYPE), place.removed())


_KNOWN = (_call_of_now, _length, _made_by_select, _time_zone, _null_test, _key)


def parameter_hint(place: Place) -> str | None:
    """What to write for `:limit`, `$1`, `?` and `@limit`."""
    if place.text() not in _PARAMETERS or place.kind(-1) in (NAME, ")", NUMBER, STRING):
        return None
    return _NO_PARAMETER
