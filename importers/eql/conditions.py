"""Conditions of EQL as conditions of a query.

Columns are text. `==` and `in` look at case, `:` and what ends with `~` do not; `*` and `?` are wildcards in `:`, `like` and `wildcard`. A
whole number matches its text, orders and arithmetic read the field as a number. `not` and `!=` hold where a field is missing, as they do in
Elasticsearch (its must_not), but the negation of an order does not, as there.
"""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, assert_never

import re2

from cqc.importers.eql.multivalued import VOCABULARY, is_multivalued
from cqc.importers.eql.parse import EqlError
from cqc.importers.eql.syntax import (
    AllOf,
    AnyOf,
    Arithmetic,
    Call,
    Compared,
    Field,
    Literal,
    Matched,
    Negated,
    OneOf,
)
from cqc.importers.program_text import pattern_part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cqc.importers.eql.syntax import Expression
    from cqc.importers.streams import Stream

TIMESTAMP = "@timestamp"
_SIGNS = {"==": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_ARITHMETIC = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "modulo": "%"}
_WORDS = {"startswith": ("", "%"), "endswith": ("%", ""), "stringcontains": ("%", "%")}
_LUCENE_ONLY = re.compile(r'(?<!\\)(?:\\\\)*[~&@#<>"]')
_PLAIN = re.compile(r"[\w.: -]*\w[\w.: -]*", re.ASCII)  # what JSON writes as it is

_WILD = re.compile(r"[*?]")
_COMPOSED = re.compile(r" (?:AND|OR) ")

TEXT, NUMBER, TRUTH = "text", "number", "truth"


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a value and its kind."""

    text: str
    kind: str


class Conditions:
    """The conditions over one event, read from one item of FROM.

    Args:
        stream: where the event is.
        alias: of the item; empty where it is the only one.
    """

    def __init__(self, stream: Stream, alias: str = "") -> None:
        self._stream, self._alias = stream, alias
        self.used: dict[str, None] = {}  # fields, as first written

    def column(self, name: str) -> str:
        """The expression that reads a field as text."""
        if "[" in name:
            raise EqlError(f"the field {name} is inside a list")
        if name == TIMESTAMP:
            return f"CAST({self._qualified('ts')} AS STRING)"
        self.used.setdefault(name)
        return self._qualified(self._stream.column(name))

    def _qualified(self, column: str) -> str:
        return f"{self._alias}.{column}" if self._alias else column

    # Conditions

    def condition(self, node: Expression) -> str:
        """The text of a condition."""
        match node:
            case AllOf(parts):
                return " AND ".join(self.operand(part) for part in parts)
            case AnyOf(parts):
                return " OR ".join(self.operand(part) for part in parts)
            case Negated(Compared(sign, left, right)) if sign in _OPPOSITE:
                return self._compared(_OPPOSITE[sign], left, right)
            case Negated(inner):
                return f"({self.condition(inner)}) IS NOT TRUE"
            case Compared("!=", left, right):
                return self._unequal(left, right)
            case Compared(sign, left, right):
                return self._compared(sign, left, right)
            case Matched(how, blind, value, patterns):
                return self._matched(how, value, patterns, blind=blind)
            case OneOf(blind, value, choices):
                return self._one_of(value, choices, blind=blind)
            case Call():
                return self._called(node)
            case Field(name):
                return self._of_each(name, lambda column: f"{column} = 'true'")
            case Literal(bool() as value):
                return "TRUE" if value else "FALSE"
            case Literal() | Arithmetic():
                raise EqlError("a value stands where a condition is wanted")
            case _:
                assert_never(node)

    def operand(self, node: Expression) -> str:
        """A condition as a part of a larger one."""
        found = self.condition(node)
        is_plain = not isinstance(node, AllOf | Negated) and not _COMPOSED.search(found)
        return found if is_plain else f"({found})"

    def _unequal(self, left: Expression, right: Expression) -> str:
        if Literal(None) in (left, right):
            other = right if left == Literal(None) else left
            return f"{self.value(other).text} IS NOT NULL"
        return f"({self._compared('==', left, right)}) IS NOT TRUE"

    def _compared(self, sign: str, left: Expression, right: Expression) -> str:
        if isinstance(left, Literal) and not isinstance(right, Literal):
            turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
            return self._compared(turned.get(sign, sign), right, left)
        if right == Literal(None):
            if sign != "==":
                raise EqlError(f"nothing is {sign} null")
            return f"{self.value(left).text} IS NULL"
        if isinstance(left, Field) and isinstance(right, Literal):
            return self._field_compared(sign, left.name, right)
        one, other = self.value(left), self.value(right)
        if TRUTH in (one.kind, other.kind):
            return f"{_truth(one)} {_SIGNS[sign]} {_truth(other)}"
        is_number = NUMBER in (one.kind, other.kind) or sign != "=="
        if is_number:
            return f"{_number(one)} {_SIGNS[sign]} {_number(other)}"
        return f"{one.text} {_SIGNS[sign]} {other.text}"

    def _field_compared(self, sign: str, name: str, literal: Literal) -> str:
        value = literal.value
        if sign == "==":
            return self._equal(name, value, blind=False)
        written = text(value) if isinstance(value, str) else str(value)
        is_text = isinstance(value, str)

        def held(column: str) -> str:
            read = column if is_text else f"TRY_CAST({column} AS DOUBLE)"
            return f"{read} {_SIGNS[sign]} {written}"

        return self._of_each(name, held)

    def _equal(self, name: str, value: object, *, blind: bool) -> str:
        """A field equal to a literal; a whole number is its text."""
        if isinstance(value, float):
            return self._of_each(name, lambda column: f"TRY_CAST({column} AS DOUBLE) = {value}")
        plain = _written(value)
        word = f"ILIKE {text(pattern_part(plain))}" if blind else f"= {text(plain)}"
        if name in VOCABULARY and _PLAIN.fullmatch(plain):
            # In the JSON text of a list an element stands between quotes: a pattern for the index over all queries.
            inside = text(f'[%"{pattern_part(plain)}"%')
            column = self.column(name)
            return f"{column} {word} OR {column} {'ILIKE' if blind else 'LIKE'} {inside}"
        return self._of_each(name, lambda column: f"{column} {word}", plain)

    def _of_each(self, name: str, held: Callable[[str], str], *literals: str) -> str:
        """A condition on a field, or on one of the values where it may hold a list.

        Args:
            name: of the field.
            held: the condition on one value.
            literals: texts that every value has which meets it.
        """
        column = self.column(name)
        if not is_multivalued(name):
            return held(column)
        every = f"coalesce(from_json({column}, 'array<string>'), array({column}))"
        found = f"exists({every}, value -> {held('value')})"
        # What is in a value is in the text of its list: the index over all queries finds that, and few lists are read.
        longest = max((each for each in literals if _PLAIN.fullmatch(each)), key=len, default="")
        if not longest:
            return found
        return f"{column} ILIKE {text(f'%{pattern_part(longest)}%')} AND {found}"

    def _one_of(self, value: Expression, choices: Sequence[Expression], *, blind: bool) -> str:
        literals = [each.value for each in choices if isinstance(each, Literal)]
        if len(literals) < len(choices):
            raise EqlError("`in` wants a list of literals")
        if isinstance(value, Field):
            plain = [each for each in literals if isinstance(each, str | int)]
            is_list = not blind and not is_multivalued(value.name) and len(plain) == len(literals)
            if is_list and len(literals) > 1:
                listing = ", ".join(text(_written(each)) for each in plain)
                return f"{self.column(value.name)} IN ({listing})"
            parts = [self._equal(value.name, each, blind=blind) for each in literals]
            return " OR ".join(_in_parentheses(part, parts) for part in parts)
        if blind:
            return self._matched("seems", value, choices, blind=True)
        return " OR ".join(self._compared("==", value, each) for each in choices)

    # Patterns

    def _matched(
        self, how: str, value: Expression, patterns: Sequence[Expression], *, blind: bool
    ) -> str:
        parts = []
        for each in patterns:
            if not isinstance(each, Literal) or each.value is None:
                raise EqlError(f"{_HOW[how]} wants a text, or a list of them")
            given = _written(each.value)
            if isinstance(value, Field) and how != "regex" and not set("*?") & set(given):
                parts.append(self._equal(value.name, each.value if blind else given, blind=blind))
                continue
            if how == "regex":
                parts.append(self._tested(value, _regex(given, blind=blind)))
            else:
                parts.append(self._tested(value, _like(given, blind=blind), *_WILD.split(given)))
        return " OR ".join(_in_parentheses(part, parts) for part in parts)

    def _tested(self, value: Expression, test: str, *literals: str) -> str:
        if isinstance(value, Field):
            return self._of_each(value.name, lambda column: f"{column} {test}", *literals)
        return f"{self._text(value)} {test}"

    # Functions

    def _called(self, node: Call) -> str:
        """A function as a condition."""
        name, given = node.name.lower(), node.arguments
        if name == "cidrmatch" and len(given) >= 2:
            nets = ", ".join(text(_net(each)) for each in given[1:])
            if isinstance(given[0], Field):
                return self._of_each(given[0].name, lambda column: f"cidr_match({column}, {nets})")
            return f"cidr_match({self._text(given[0])}, {nets})"
        if name in ("wildcard", "match") and len(given) >= 2:
            how = "like" if name == "wildcard" else "regex"
            return self._matched(how, given[0], given[1:], blind=node.blind)
        if name in _WORDS and len(given) == 2:
            return self._with_part(name, given[0], given[1], blind=node.blind)
        found = self._function(node)
        if found.kind is not TRUTH:
            raise EqlError(f"{node.name} gives no truth value")
        return found.text

    def _with_part(self, name: str, whole: Expression, part: Expression, *, blind: bool) -> str:
        if isinstance(part, Literal):
            before, after = _WORDS[name]
            pattern = text(f"{before}{pattern_part(_written(part.value))}{after}")
            word = "ILIKE" if blind else "LIKE"
            return self._tested(whole, f"{word} {pattern}", _written(part.value))
        function = "contains" if name == "stringcontains" else name
        both = self._text(whole), self._text(part)
        shown = [f"lower({each})" for each in both] if blind else list(both)
        return f"{function}({', '.join(shown)})"

    def _function(self, node: Call) -> Value:
        name, given = node.name.lower(), node.arguments
        count = len(given)
        if name in _ARITHMETIC and count == 2:
            return self.value(Arithmetic(_ARITHMETIC[name], *given))
        if name == "length" and count == 1:
            return Value(f"length({self._text(given[0])})", NUMBER)
        if name == "concat":
            return Value(f"concat({', '.join(self._text(each) for each in given)})", TEXT)
        if name == "string" and count == 1:
            return Value(self._text(given[0]), TEXT)
        if name == "number" and count == 1:
            return Value(_number(self.value(given[0])), NUMBER)
        if name == "indexof" and count in (2, 3):
            found = [self._text(each) for each in given[:2]]
            start = f", {_number(self.value(given[2]))} + 1" if count == 3 else ""
            return Value(f"nullif(locate({found[1]}, {found[0]}{start}), 0) - 1", NUMBER)
        if name == "substring" and count in (2, 3):
            return Value(self._substring(given), TEXT)
        if name == "between" and count in (3, 4):
            return Value(self._between(given, blind=node.blind), TEXT)
        if name in ("cidrmatch", "wildcard", "match", *_WORDS):
            return Value(f"({self._called(node)})", TRUTH)
        raise EqlError(f"there is no function {node.name} of {count} arguments that could be said")

    def _substring(self, given: Sequence[Expression]) -> str:
        places = [each.value for each in given[1:] if isinstance(each, Literal)]
        if len(places) < len(given) - 1 or not all(type(each) is int for each in places):
            raise EqlError("substring wants whole numbers")
        start, *ends = [each for each in places if isinstance(each, int)]
        whole = self._text(given[0])
        if start >= 0 and not ends:
            return f"substring({whole}, {start + 1})"
        if start >= 0 and ends[0] >= 0:
            return f"substring({whole}, {start + 1}, {max(0, ends[0] - start)})"
        if start < 0 and not ends:
            return f"right({whole}, {-start})"
        raise EqlError("substring with an end that is counted from behind cannot be said")

    def _between(self, given: Sequence[Expression], *, blind: bool) -> str:
        bounds = [each.value for each in given[1:3] if isinstance(each, Literal)]
        if len(bounds) < 2 or not all(isinstance(each, str) for each in bounds):
            raise EqlError("between wants two texts")
        greedy = len(given) == 4 and given[3] == Literal(True)
        left, right = (re.escape(str(each)) for each in bounds)
        pattern = f"(?{'is' if blind else 's'}){left}({'.*' if greedy else '.*?'}){right}"
        return f"regexp_extract({self._text(given[0])}, {text(pattern)}, 1)"

    # Values

    def value(self, node: Expression) -> Value:
        """The text of a value."""
        match node:
            case Field(name):
                return Value(self.column(name), TEXT)
            case Literal(bool() as value):
                return Value("TRUE" if value else "FALSE", TRUTH)
            case Literal(None):
                return Value("NULL", TEXT)
            case Literal(str() as value):
                return Value(text(value), TEXT)
            case Literal(value):
                return Value(str(value), NUMBER)
            case Arithmetic(sign, left, right):
                both = _number(self.value(left)), _number(self.value(right))
                return Value(f"({both[0]} {sign} {both[1]})", NUMBER)
            case Call():
                return self._function(node)
            case _:
                return Value(f"({self.condition(node)})", TRUTH)

    def _text(self, node: Expression) -> str:
        found = self.value(node)
        return found.text if found.kind is TEXT else f"CAST({found.text} AS STRING)"


_HOW = {"seems": "`:`", "like": "`like`", "regex": "`regex`"}


def _in_parentheses(part: str, parts: Sequence[str]) -> str:
    return f"({part})" if len(parts) > 1 and _COMPOSED.search(part) else part


def _written(value: object) -> str:
    """A literal as the text that a JSON row gives."""
    return value if isinstance(value, str) else json.dumps(value)


def _truth(value: Value) -> str:
    return value.text if value.kind is TRUTH else f"({value.text} = 'true')"


def _number(value: Value) -> str:
    if value.kind is TRUTH:
        raise EqlError("a truth value stands where a number is wanted")
    return value.text if value.kind is NUMBER else f"TRY_CAST({value.text} AS DOUBLE)"


def _like(pattern: str, *, blind: bool) -> str:
    """A text with `*` and `?` as a LIKE."""
    wild = {"*": "%", "?": "_"}
    made = "".join(wild.get(letter) or pattern_part(letter) for letter in pattern)
    return f"{'ILIKE' if blind else 'LIKE'} {text(made)}"


def _regex(pattern: str, *, blind: bool) -> str:
    """A regular expression of Lucene, which matches the whole text."""
    if _LUCENE_ONLY.search(pattern):
        raise EqlError(f"the regular expression {pattern!r} has operators that only Lucene knows")
    whole = f"(?{'is' if blind else 's'})^(?:{pattern})$"
    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(whole, options)
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise EqlError(
            f"the regular expression {pattern!r} cannot be matched in linear time ({reason})"
        ) from error
    return f"RLIKE {text(whole)}"


def _net(node: Expression) -> str:
    given = node.value if isinstance(node, Literal) else None
    try:
        return str(ipaddress.ip_network(str(given), strict=False))
    except ValueError as error:
        raise EqlError(f"cidrMatch wants networks, not {given}") from error
