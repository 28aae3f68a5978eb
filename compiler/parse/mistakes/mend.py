"""Report every mistake of a statement, and make of it what can be made.

The statement is parsed; where that stops, the first kind of mistake that recognises the place reports it and says how the
statement was probably meant; that is parsed in turn. So `SELCT a, FROM b` gives two errors and a query.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import Span
from cqc.compiler.diagnostics.suggest import NOW_HINT
from cqc.compiler.parse.mistakes.clauses import (
    begin_without_end,
    empty_select_list,
    incomplete_clause,
    missing_from,
    repeated_clause,
)
from cqc.compiler.parse.mistakes.expected import describe
from cqc.compiler.parse.mistakes.habits import NAME_AND_TYPE, foreign_habit
from cqc.compiler.parse.mistakes.place import Mistake, Place, span_at
from cqc.compiler.parse.mistakes.punctuation import (
    closes_later,
    extra_comma,
    foreign_comment,
    missing_comma,
    missing_connective,
    strange_character,
    text_over_lines,
    wrong_bracket,
    wrong_operator,
)
from cqc.compiler.parse.mistakes.windows import foreign_window
from cqc.compiler.parse.mistakes.words import (
    foreign_construct,
    has_outer_join,
    joined_words,
    misspelt_word,
    outer_join,
    reserved_name,
    unknown_type_or_unit,
    wrong_quotes,
)
from cqc.compiler.syntax.pieces import SelectPiece
from cqc.compiler.syntax.tables import Failure, read_kinds
from cqc.compiler.syntax.tokens import NAME, NUMBER, STRING, TYPE, UNIT

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.syntax.pieces import Piece
    from cqc.compiler.syntax.tokens import Tokens
    from cqc.compiler.syntax.tree import Statement

DEEPEST = 200
"""How deep expressions may be nested: every later stage walks trees by recursion."""

_SYMBOLS = {"RPAR": ")", "RSQB": "]", "COMMA": ",", "EQUAL": "="}
_HINTS = {
    ("NOW", "("): NOW_HINT,
    (TYPE, "("): "Types have no length.",
    ("IN", NUMBER): "The values of `IN` are in brackets: `IN (1, 2)`.",
    ("IN", STRING): "The values of `IN` are in brackets: `IN ('a', 'b')`.",
    ("RANGE", NUMBER): "Write it in brackets, as in `[RANGE 5 MINUTES]`.",
    ("ROWS", NUMBER): "Write it in brackets, as in `[ROWS 10]`.",
}
_MOST_MISTAKES = 10
_ENOUGH = 100  # mistakes between two semicolons
_STATEMENT_STARTS = ("SELECT", "CREATE", "SET")

# The first that recognises a place wins, so those that need the most evidence come first.
MISTAKES = (
    foreign_comment,
    wrong_operator,
    text_over_lines,
    strange_character,
    wrong_quotes,
    foreign_habit,
    foreign_construct,
    foreign_window,
    empty_select_list,
    extra_comma,
    joined_words,
    misspelt_word,
    unknown_type_or_unit,
    reserved_name,
    incomplete_clause,
    begin_without_end,
    missing_from,
    missing_comma,
    wrong_bracket,
    missing_connective,
)


def mend(tokens: Tokens) -> tuple[list[Statement], list[Diagnostic]]:
    """The statements that can be made of tokens with mistakes, and all that is wrong with them."""
    statements: list[Statement] = []
    diagnostics: list[Diagnostic] = []
    rest: Tokens | None = tokens
    while rest is not None and rest.kinds and len(diagnostics) < _ENOUGH:
        statement, found, rest = _mend_first(rest)
        statements += [statement] if statement is not None else []
        diagnostics += found
    return statements, diagnostics


def _mend_first(tokens: Tokens) -> tuple[Statement | None, list[Diagnostic], Tokens | None]:
    """The first statement of some tokens, its mistakes, and the tokens after it where a `;` is missing."""
    diagnostics: list[Diagnostic] = []
    rest: Tokens | None = None
    for _ in range(_MOST_MISTAKES):
        if not tokens.kinds and diagnostics:
            break  # nothing is left of it, as of a comment of another language
        outcome = read_kinds(tokens.kinds)
        if not isinstance(outcome, Failure):
            found = whole_mistakes(tokens, outcome)
            usable = all(each.code == "CQ007" for each in found)
            return (outcome.make(tokens) if usable else None), diagnostics + found, rest
        place = Place.of(tokens, outcome)
        if rest is None and (cut := _next_statement(place)) is not None:
            tokens, rest, found = cut
            diagnostics += found
            continue
        mistake = recognise(place)
        diagnostics.append(mistake.diagnostic)
        if mistake.mended is None:
            break
        tokens = mistake.mended
    return None, diagnostics, rest


def _next_statement(place: Place) -> tuple[Tokens, Tokens, list[Diagnostic]] | None:
    """Cut before a word that begins a statement, where it cannot be anything else."""
    if (
        place.kind() not in _STATEMENT_STARTS
        or place.at == 0
        or place.kind(-1) in ("(", "AS", "ALL")
    ):
        return None
    if foreign_construct(place) or reserved_name(place) or place.expected == {"AS"}:
        return None
    tokens = place.tokens
    before, after = tokens.part(0, place.at), tokens.part(place.at, len(tokens.kinds))
    if not place.can_end:
        return before, after, []
    end = tokens.ends[place.at - 1]
    hint = f"Add `;` before `{place.text()}`."
    return before, after, [make("CQ006", Span(tokens.source, end, end), hint=hint)]


def recognise(place: Place) -> Mistake:
    """The mistake at a place; where none is known, what was expected there."""
    for mistake in MISTAKES:
        found = mistake(place)
        if found is not None:
            return found
    hint = _hint(place)
    expected, found_text = describe(place.expected), place.found()
    diagnostic = make("CQ001", place.span(), expected=expected, found=found_text, hint=hint)
    return Mistake(diagnostic, _with_the_only_token_that_fits(place))


def _hint(place: Place) -> str | None:
    found = place.kind()
    if place.kind(-2) == "ROWS" and found == UNIT:
        return f"ROWS counts rows; write `RANGE {place.text(-1)} {place.text()}` for a time."
    if found == "ON":
        return "`ON` belongs to `JOIN`; after a comma the condition goes to `WHERE`."
    if place.kind(-1) in (TYPE, "TIMESTAMP", "DATE") and found == "NOT":
        return NAME_AND_TYPE
    if found == "." and place.kind(-2) in ("FROM", ",", "JOIN") and "JOIN" in place.expected:
        return f'A stream has one name; in double quotes it may have a point: `"{place.text(-1)}.{place.text(1)}"`.'
    if found == "[" and place.kind(2) == "]" and place.kind(1) == NAME:
        return f'Names are quoted so: `"{place.text(1)}"`.'
    return _HINTS.get((place.kind(-1), found))


def _with_the_only_token_that_fits(place: Place) -> Tokens | None:
    if len(place.expected) != 1:
        return None
    (only,) = place.expected
    if only in ("LPAR", "LSQB"):
        return None  # nobody knows where the other bracket belongs
    token = _SYMBOLS.get(only, only)
    if token in (")", "]") and closes_later(place, token):
        return None  # what stands before it is wrong, not the bracket
    mended = place.inserted(token, token)
    if not place.is_end:
        mended = max(mended, place.replaced(token, token), key=place.reach)
    return mended if place.reach(mended) > place.at + 1 else None


def parses_but_is_wrong(kinds: list[str], piece: Piece) -> bool:
    """Whether kinds that parse may have a mistake all the same; `mend` finds out which."""
    repeats = isinstance(piece, SelectPiece) and bool(piece.repeated)
    return repeats or piece.depth > DEEPEST or has_outer_join(kinds)


def whole_mistakes(tokens: Tokens, piece: Piece) -> list[Diagnostic]:
    """What is wrong with a statement that parses."""
    if piece.depth > DEEPEST:
        span = span_at(tokens, piece.deepest)
        hint = "Split the condition, or remove brackets that are not needed."
        return [make("CQ015", span, limit=DEEPEST, hint=hint)]
    found: list[Diagnostic] = []
    if isinstance(piece, SelectPiece):
        found += [
            repeated_clause(tokens, clause.keyword, clause.first).diagnostic
            for clause in piece.repeated
        ]
    joined = outer_join(tokens)
    return found if joined is None else [*found, joined.diagnostic]
