"""From grammar rules to makers of syntax nodes.

The parser does not make nodes: it makes *pieces*, each of which knows how to make its node from the tokens of any
statement of the same shape. A piece holds token numbers, never text or places, so a shape is parsed once and its piece
serves every statement that differs in names, literals and places only.

Every rule of `grammar/cq.lark` has the method of its name here. A method gets what the rule matched, in order: pieces for
rules, token numbers for tokens, None for what was left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import Token, Transformer, v_args

from cqc.compiler import syntax
from cqc.compiler.durations import UNITS
from cqc.compiler.parse_pieces import (
    Piece,
    leaf,
    make_all,
    make_optional,
    maker_of,
    name_at,
    number_of,
    span_of,
    text_of,
)
from cqc.compiler.types import TYPE_NAMES

if TYPE_CHECKING:
    from cqc.compiler.tokens import Tokens

Part = Piece | Token
"""What a rule's method is given for a rule or a token."""


@v_args(inline=True)
class ExpressionPieces(Transformer[Token, Piece]):
    """The rules of expressions."""

    def number(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.NumberLiteral(t.texts[at], span_of(t, at, at)))

    def string(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.StringLiteral(text_of(t, at), span_of(t, at, at)))

    def true(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.BooleanLiteral(True, span_of(t, at, at)))

    def false(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.BooleanLiteral(False, span_of(t, at, at)))

    def null(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.NullLiteral(span_of(t, at, at)))

    def now(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.Now(span_of(t, at, at)))

    def timestamp(self, word: Token, string: Token) -> Piece:
        at, last = number_of(word), number_of(string)

        def make(t: Tokens) -> syntax.TimestampLiteral:
            return syntax.TimestampLiteral(text_of(t, last), span_of(t, at, last))

        return Piece(make, at, last)

    def duration(self, number: Token, unit: Token) -> Piece:
        at, last = number_of(number), number_of(unit)

        def make(t: Tokens) -> syntax.Duration:
            return syntax.Duration(t.texts[at], UNITS[t.texts[last].upper()], span_of(t, at, last))

        return Piece(make, at, last)

    def interval(self, word: Token, amount: Token, unit: Token) -> Piece:
        first, at, last = number_of(word), number_of(amount), number_of(unit)

        def make(t: Tokens) -> syntax.Duration:
            unit_us = UNITS[t.texts[last].upper()]
            return syntax.Duration(t.texts[at].strip("'"), unit_us, span_of(t, first, last))

        return Piece(make, first, last)

    def column(self, name: Token) -> Piece:
        at = number_of(name)

        def make(t: Tokens) -> syntax.ColumnName:
            column = name_at(t, at)
            return syntax.ColumnName(None, column, column.span)

        return leaf(at, make)

    def qualified_column(self, qualifier: Token, _dot: Token, name: Token) -> Piece:
        at, last = number_of(qualifier), number_of(name)

        def make(t: Tokens) -> syntax.ColumnName:
            return syntax.ColumnName(name_at(t, at), name_at(t, last), span_of(t, at, last))

        return Piece(make, at, last)

    def unary(self, operator: Token, operand: Piece) -> Piece:
        at, last, word, inner = number_of(operator), operand.last, str(operator), operand.make
        return Piece(
            lambda t: syntax.Unary(word, inner(t), span_of(t, at, last)), at, last, (operand,)
        )

    def binary(self, left: Piece, operator: Token, right: Piece) -> Piece:
        first, at, last = left.first, number_of(operator), right.last
        make_left, make_right = left.make, right.make

        def make(t: Tokens) -> syntax.Binary:
            text = t.texts[at]
            written = "<>" if text == "!=" else text
            return syntax.Binary(written, make_left(t), make_right(t), span_of(t, first, last))

        return Piece(make, first, last, (left, right))

    def logical(self, *parts: Part) -> Piece:
        operands = [part for part in parts if isinstance(part, Piece)]
        first, last, word = operands[0].first, operands[-1].last, str(parts[1])
        makes = [operand.make for operand in operands]

        def make(t: Tokens) -> syntax.Logical:
            return syntax.Logical(word, make_all(makes, t), span_of(t, first, last))

        return Piece(make, first, last, operands)

    def between(
        self,
        operand: Piece,
        negated: Token | None,
        _between: Token,
        low: Piece,
        _and: Token,
        high: Piece,
    ) -> Piece:
        first, last, is_negated = operand.first, high.last, negated is not None
        makes = (operand.make, low.make, high.make)

        def make(t: Tokens) -> syntax.Between:
            value, lower, upper = makes
            span = span_of(t, first, last)
            return syntax.Between(value(t), lower(t), upper(t), is_negated, span)

        return Piece(make, first, last, (operand, low, high))

    def in_list(
        self, operand: Piece, negated: Token | None, _in: Token, _open: Token, *rest: Part
    ) -> Piece:
        values = [part for part in rest if isinstance(part, Piece)]
        first, last, is_negated = operand.first, number_of(rest[-1]), negated is not None
        make_operand, makes = operand.make, [value.make for value in values]

        def make(t: Tokens) -> syntax.InList:
            span = span_of(t, first, last)
            return syntax.InList(make_operand(t), make_all(makes, t), is_negated, span)

        return Piece(make, first, last, (operand, *values))

    def like(
        self,
        operand: Piece,
        negated: Token | None,
        operator: Token,
        pattern: Piece,
        _escape: Token | None,
        escape: Piece | None,
    ) -> Piece:
        first, last, is_negated = operand.first, (escape or pattern).last, negated is not None
        word, make_operand, make_pattern = str(operator), operand.make, pattern.make
        make_escape = maker_of(escape)

        def make(t: Tokens) -> syntax.Like:
            written = make_optional(make_escape, t)
            span = span_of(t, first, last)
            return syntax.Like(word, make_operand(t), make_pattern(t), written, is_negated, span)

        return Piece(make, first, last, [part for part in (operand, pattern, escape) if part])

    def is_(self, operand: Piece, _is: Token, negated: Token | None, what: Token) -> Piece:
        first, last, is_negated = operand.first, number_of(what), negated is not None
        make_operand, word = operand.make, str(what)

        def make(t: Tokens) -> syntax.Is:
            return syntax.Is(make_operand(t), word, is_negated, span_of(t, first, last))

        return Piece(make, first, last, (operand,))

    def is_distinct(
        self,
        left: Piece,
        _is: Token,
        negated: Token | None,
        _distinct: Token,
        _from: Token,
        right: Piece,
    ) -> Piece:
        first, last, is_negated = left.first, right.last, negated is not None
        make_left, make_right = left.make, right.make

        def make(t: Tokens) -> syntax.IsDistinct:
            span = span_of(t, first, last)
            return syntax.IsDistinct(make_left(t), make_right(t), is_negated, span)

        return Piece(make, first, last, (left, right))

    def call(self, name: Token, _open: Token, close: Token) -> Piece:
        return self._call(name, (), close, star=False, distinct=False)

    def call_star(self, name: Token, _open: Token, _star: Token, close: Token) -> Piece:
        return self._call(name, (), close, star=True, distinct=False)

    def call_arguments(
        self, name: Token, _open: Token, distinct: Token | None, *rest: Part
    ) -> Piece:
        arguments = tuple(part for part in rest if isinstance(part, Piece))
        return self._call(name, arguments, rest[-1], star=False, distinct=distinct is not None)

    def _call(
        self, name: Token, arguments: tuple[Piece, ...], close: Part, *, star: bool, distinct: bool
    ) -> Piece:
        at, last = number_of(name), number_of(close)
        makes = [argument.make for argument in arguments]

        def make(t: Tokens) -> syntax.Call:
            span = span_of(t, at, last)
            return syntax.Call(name_at(t, at), make_all(makes, t), star, distinct, span)

        return Piece(make, at, last, arguments)

    def cast(
        self, word: Token, _open: Token, operand: Piece, _as: Token, kind: Token, close: Token
    ) -> Piece:
        first, at, last, make_operand = (
            number_of(word),
            number_of(kind),
            number_of(close),
            operand.make,
        )

        def make(t: Tokens) -> syntax.Cast:
            target = TYPE_NAMES[t.texts[at].upper()]
            return syntax.Cast(make_operand(t), target, span_of(t, first, last))

        return Piece(make, first, last, (operand,))

    def branch(self, when: Token, condition: Piece, _then: Token, value: Piece) -> Piece:
        make_condition, make_value = condition.make, value.make
        return Piece(
            lambda t: (make_condition(t), make_value(t)),
            number_of(when),
            value.last,
            (condition, value),
        )

    def case(self, word: Token, operand: Piece | None, *rest: Any) -> Piece:
        *branches, _else, otherwise, close = rest
        first, last = number_of(word), number_of(close)
        make_operand = maker_of(operand)
        make_otherwise = maker_of(otherwise)
        makes = [branch.make for branch in branches]

        def make(t: Tokens) -> syntax.Case:
            subject = make_optional(make_operand, t)
            default = make_optional(make_otherwise, t)
            return syntax.Case(subject, make_all(makes, t), default, span_of(t, first, last))

        return Piece(make, first, last, [part for part in (operand, *branches, otherwise) if part])

    def parenthesised(self, opening: Token, inner: Piece, close: Token) -> Piece:
        first, last, make_inner = number_of(opening), number_of(close), inner.make

        def make(t: Tokens) -> syntax.Parenthesised:
            return syntax.Parenthesised(make_inner(t), span_of(t, first, last))

        return Piece(make, first, last, (inner,))
