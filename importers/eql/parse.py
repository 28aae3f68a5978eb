"""EQL text to what it says."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, VisitError

from cqc.importers.eql.syntax import (
    AllOf,
    AnyOf,
    Arithmetic,
    Call,
    Compared,
    EventQuery,
    Expression,
    Field,
    Key,
    Literal,
    Matched,
    Negated,
    OneOf,
    Query,
    Sequence,
    Step,
)

GRAMMAR = Path(__file__).parent / "eql.lark"
_UNITS_US = {
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "micros": 1,
}
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{2,8}\}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "r": "\r", "t": "\t", "b": "\b", "f": "\f"}


class EqlError(Exception):
    """A query that cannot be read or said, in one sentence."""


def parse(text: str) -> list[Query]:
    """The queries of a text, which semicolons separate.

    Raises:
        EqlError: when it is not EQL, or has what the language cannot say.
    """
    try:
        tree = _parser().parse(text)
        return list(_Reader().transform(tree))
    except VisitError as error:
        raise error.orig_exc from error
    except UnexpectedInput as error:
        raise EqlError(_sentence(error, text)) from error


@lru_cache
def _parser() -> Lark:
    return Lark(GRAMMAR.read_text(encoding="utf-8"), parser="lalr", maybe_placeholders=False)


def _sentence(error: UnexpectedInput, text: str) -> str:
    if isinstance(error, UnexpectedEOF) or getattr(error, "token", None) == Token("$END", ""):
        return "it is not EQL: it ends too early"
    line = text.splitlines()[error.line - 1] if text.strip() else ""
    is_letter = isinstance(error, UnexpectedCharacters)
    found = line[error.column - 1 :][:1] if is_letter else str(getattr(error, "token", ""))
    return f"it is not EQL: {found!r} cannot stand in line {error.line}, column {error.column}"


def _unquoted(token: str) -> str:
    """A text between quotes, with its escapes."""

    def letter(found: re.Match[str]) -> str:
        name = found[1]
        if len(name) > 1:
            return chr(int(name[1:].strip("{}"), 16))
        return _LETTERS.get(name, name)

    return _ESCAPE.sub(letter, token[1:-1])


def _path(token: str) -> str:
    return token.replace("`", "")


@v_args(inline=True)
class _Reader(Transformer[Token, list[Query]]):
    """Each rule of the grammar to its node."""

    def start(self, *queries: Query) -> list[Query]:
        return list(queries)

    def query(self, query: Query, *pipes: str) -> Query:
        if pipes:
            raise EqlError(
                f"the pipe `{pipes[0]}` asks for a part of a finished answer, and a stream goes on"
            )
        return query

    def pipe(self, name: Token, *values: Expression) -> str:
        del values
        return f"| {name}"

    def event_query(self, category: str, condition: Expression) -> EventQuery:
        return EventQuery(category, condition)

    def category(self, name: Token) -> str:
        return _unquoted(name) if name.type == "TEXT" else _path(name)

    # Sequences

    def sequence(self, *parts: Any) -> Sequence:
        shared = _keys_among(parts)
        spans = [part for part in parts if isinstance(part, int)]
        steps = [part for part in parts if isinstance(part, Step)]
        until = steps.pop() if parts[-1] is steps[-1] and steps[-1].runs == 0 else None
        made = tuple(_with_keys(step, shared) for step in steps)
        return Sequence(
            made,
            spans[-1] if spans else None,
            None if until is None else _with_keys(until, shared),
        )

    def sample(self, *parts: Any) -> Query:
        del parts
        raise EqlError("`sample` has no order and no span: it would keep every event for ever")

    def by(self, *keys: Key) -> tuple[Key, ...]:
        return keys

    def key(self, name: Token) -> Key:
        return Key(_path(name), is_optional=False)

    def optional_key(self, name: Token) -> Key:
        return Key(_path(name), is_optional=True)

    def maxspan(self, span: Token) -> int:
        number, unit = re.fullmatch(r"(\d+)\s*(\w+)", span).groups()  # type: ignore[union-attr]  # the token's pattern says so
        span_us = int(number) // 1000 if unit == "nanos" else int(number) * _UNITS_US[unit]
        if span_us <= 0:
            raise EqlError(f"maxspan={span} is less than a microsecond")
        return span_us

    def step(self, *parts: Any) -> Step:
        runs = [part for part in parts if isinstance(part, int)]
        query = next(part for part in parts if isinstance(part, EventQuery))
        is_absent = isinstance(parts[0], Token)
        return Step(query, _keys_among(parts), runs[-1] if runs else 1, is_absent)

    def runs(self, number: Token) -> int:
        if int(number) < 1:
            raise EqlError("runs is at least 1")
        return int(number)

    def until(self, query: EventQuery, *keys: tuple[Key, ...]) -> Step:
        return Step(query, _keys_among(keys), runs=0)

    # Conditions

    def any_of(self, *parts: Expression) -> Expression:
        return parts[0] if len(parts) == 1 else AnyOf(parts)

    def all_of(self, *parts: Expression) -> Expression:
        return parts[0] if len(parts) == 1 else AllOf(parts)

    def negated(self, inner: Expression) -> Expression:
        return Negated(inner)

    def compared(self, left: Expression, sign: Token, right: Expression) -> Expression:
        return Compared(str(sign), left, right)

    def several(self, *values: Expression) -> tuple[Expression, ...]:
        return values

    def seems(self, value: Expression, matched: Any) -> Expression:
        return Matched("seems", True, value, _several(matched))

    def like(self, value: Expression, *rest: Any) -> Expression:
        return Matched("like", len(rest) > 1, value, _several(rest[-1]))

    def regex(self, value: Expression, *rest: Any) -> Expression:
        return Matched("regex", len(rest) > 1, value, _several(rest[-1]))

    def one_of(self, value: Expression, *rest: Any) -> Expression:
        marks = [each.type for each in rest if isinstance(each, Token)]
        found = OneOf("TILDE" in marks, value, rest[len(marks) :])
        return Negated(found) if "NOT" in marks else found

    # Values

    def arithmetic(self, left: Expression, sign: Token, right: Expression) -> Expression:
        return Arithmetic(str(sign), left, right)

    def minus(self, sign: Token, inner: Expression) -> Expression:
        del sign
        if isinstance(inner, Literal) and isinstance(inner.value, int | float):
            return Literal(-inner.value)
        return Arithmetic("-", Literal(0), inner)

    def number(self, token: Token) -> Expression:
        return Literal(int(token) if token.isdigit() else float(token))

    def text(self, token: Token) -> Expression:
        return Literal(_unquoted(token))

    def raw_text(self, token: Token) -> Expression:
        return Literal(str(token)[3:-3])

    def true(self) -> Expression:
        return Literal(True)

    def false(self) -> Expression:
        return Literal(False)

    def null(self) -> Expression:
        return Literal(None)

    def call(self, name: Token, *rest: Any) -> Expression:
        blind = bool(rest) and isinstance(rest[0], Token)
        return Call(str(name), blind, rest[1:] if blind else rest)

    def field(self, name: Token) -> Expression:
        return Field(_path(name))


def _several(matched: Any) -> tuple[Expression, ...]:
    return matched if isinstance(matched, tuple) else (matched,)


def _keys_among(parts: Any) -> tuple[Key, ...]:
    return tuple(key for part in parts if isinstance(part, tuple) for key in part)


def _with_keys(step: Step, shared: tuple[Key, ...]) -> Step:
    return Step(step.query, (*shared, *step.keys), step.runs, step.is_absent)
