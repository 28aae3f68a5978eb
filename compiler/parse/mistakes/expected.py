"""What the grammar expects at a place, in words."""

from __future__ import annotations

from cqc.compiler.parse.mistakes.place import CLAUSES
from cqc.compiler.syntax.tables import END
from cqc.compiler.syntax.tokens import words

_PHRASES = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a text in single quotes",
    "TYPE": "a type",
    "UNIT": "a unit of time",
    "COMPARISON": "a comparison",
    "LPAR": "`(`",
    "RPAR": "`)`",
    "LSQB": "`[`",
    "RSQB": "`]`",
    "COMMA": "`,`",
    "DOT": "`.`",
    "STAR": "`*`",
    "EQUAL": "`=`",
    "LIKE": "`LIKE`",
    END: "`;`",
}
_EXPRESSION = words(
    "ANY_COLUMN BOTH CASE CAST DATE DECIMAL EXTRACT FALSE INTERVAL LEADING LPAR MINUS NAME NOT NOW NULL NUMBER PARAMETER PLUS STRING TILDE TIMESTAMP TRUE "
    "TRAILING TRIM TRY_CAST"
)
_OPERATORS = words(
    "PLUS MINUS STAR SLASH PERCENT DIV AMPERSAND VBAR CIRCUMFLEX DOUBLE_COLON EQUAL COMPARISON BETWEEN IN IS LIKE NOT "
    "AND OR DOT ESCAPE LSQB"
)
_DETAILS = words("INNER CROSS ASC DESC NULLS LSQB DISTINCT AFTER BEFORE")
_ORDER = ("NAME", "COMMA", "RPAR", "RSQB", "AS", "FROM", "JOIN", "ON")


def describe(expected: frozenset[str]) -> str:
    """What could stand at a place, most telling first.

    Example:
        describe({"NUMBER"}) == "a number"
    """
    phrases = []
    rest = set(expected)
    if {"NUMBER", "STRING", "LPAR"} <= rest:
        phrases.append(
            "an output column" if "STAR" in rest and "DISTINCT" in rest else "an expression"
        )
        rest -= _EXPRESSION | {"STAR"}
    if {"PLUS", "STAR"} <= rest:
        phrases += ["an operator"] if {"AND", "OR"} <= rest or "AND" not in rest else ["`AND`"]
        rest -= _OPERATORS | {"UNIT"}
    has_clauses = rest >= {"WHERE", "LIMIT"}
    rest -= _DETAILS if len(rest) > 3 else set()
    if has_clauses:
        rest -= CLAUSES
    ordered = sorted(rest - {END}, key=lambda word: (_rank(word), word))
    phrases += [_PHRASES.get(word, f"`{word}`") for word in ordered]
    phrases += ["a clause such as `WHERE`"] if has_clauses else []
    phrases += [_PHRASES[END]] if END in rest else []
    return _join(phrases)


def _rank(word: str) -> int:
    return _ORDER.index(word) if word in _ORDER else len(_ORDER)


def _join(phrases: list[str]) -> str:
    if len(phrases) <= 1:
        return "".join(phrases) or "nothing more"
    return f"{', '.join(phrases[:-1])} or {phrases[-1]}"
