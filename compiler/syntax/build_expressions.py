"""From grammar rules to makers of syntax nodes.

The parser does not make nodes: it makes *pieces*, each of which knows how to make its node from the tokens of any
statement of the same shape. A piece holds token numbers, never text or places, so a shape is parsed once and its piece
serves every statement that differs in names, literals and places only.

Every rule of `grammar/cq.lark` has the method of its name. A method gets what the rule matched, in order: pieces for
rules, token numbers for tokens, None for what was left out.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.source import Span
from cqc.compiler.meaning.times.durations import CALENDAR_UNITS, UNITS
from cqc.compiler.meaning.types import ColumnType, type_named, type_of_text
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.pieces import (
    Chain,
    Group,
    List,
    Part,
    Piece,
    leaf,
    make_all,
    make_optional,
    maker_of,
    name_at,
    pieces_of,
    span_of,
    text_of,
    token_of,
)

if TYPE_CHECKING:
    from cqc.compiler.syntax.tokens import Tokens


def _duration(number: str, unit: str, span: Span) -> syntax.Duration:
    word = unit.upper()
    return syntax.Duration(number, UNITS.get(word, 0), span, CALENDAR_UNITS.get(word, 0))


class ExpressionPieces:
    """The rules of expressions."""

    def number(self, at: int) -> Piece:
        def make(t: Tokens) -> syntax.NumberLiteral:
            return syntax.NumberLiteral(t.texts[at], Span(t.source, t.starts[at], t.ends[at]))

        return Piece(make, at, at)

    def string(self, at: int) -> Piece:
        def make(t: Tokens) -> syntax.StringLiteral:
            span = Span(t.source, t.starts[at], t.ends[at])
            return syntax.StringLiteral(text_of(t, at), span)

        return Piece(make, at, at)

    def true(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.BooleanLiteral(True, span_of(t, at, at)))

    def false(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.BooleanLiteral(False, span_of(t, at, at)))

    def null(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.NullLiteral(span_of(t, at, at)))

    def now(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.Now(span_of(t, at, at)))

    def timestamp(self, word: int, string: int) -> Piece:
        def make(t: Tokens) -> syntax.TimestampLiteral:
            return syntax.TimestampLiteral(text_of(t, string), span_of(t, word, string))

        return Piece(make, word, string)

    def date(self, word: int, string: int) -> Piece:
        def make(t: Tokens) -> syntax.DateLiteral:
            return syntax.DateLiteral(text_of(t, string), span_of(t, word, string))

        return Piece(make, word, string)

    def duration(self, number: int, unit: int) -> Piece:
        def make(t: Tokens) -> syntax.Duration:
            return _duration(t.texts[number], t.texts[unit], span_of(t, number, unit))

        return Piece(make, number, unit)

    def interval(self, word: int, amount: int, unit: int) -> Piece:
        def make(t: Tokens) -> syntax.Duration:
            return _duration(t.texts[amount].strip("'"), t.texts[unit], span_of(t, word, unit))

        return Piece(make, word, unit)

    def any_column(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.AnyColumn(span_of(t, at, at)))

    def parameter(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.Parameter(t.texts[at][1:], span_of(t, at, at)))

    def column(self, name: int) -> Piece:
        def make(t: Tokens) -> syntax.ColumnName:
            column = name_at(t, name)
            return syntax.ColumnName(None, column, column.span)

        return Piece(make, name, name)

    def qualified_column(self, qualifier: int, _dot: int, name: int, *rest: int) -> Piece:
        more = rest[1::2]  # between them are points
        last = more[-1] if more else name

        def make(t: Tokens) -> syntax.ColumnName:
            span = span_of(t, qualifier, last)
            fields = tuple(name_at(t, each) for each in more)
            return syntax.ColumnName(name_at(t, qualifier), name_at(t, name), span, fields)

        return Piece(make, qualifier, last)

    def subscript(self, operand: Piece, _open: int, index: Piece, close: int) -> Piece:
        make_operand, make_index, first = operand.make, index.make, operand.first

        def make(t: Tokens) -> syntax.Subscript:
            return syntax.Subscript(make_operand(t), make_index(t), span_of(t, first, close))

        return Piece(make, first, close, (operand, index))

    def field_of(self, operand: Piece, _dot: int, name: int) -> Piece:
        make_operand, first = operand.make, operand.first

        def make(t: Tokens) -> syntax.FieldOf:
            return syntax.FieldOf(make_operand(t), name_at(t, name), span_of(t, first, name))

        return Piece(make, first, name, (operand,))

    def lambda_of_one(self, name: int, _arrow: int, body: Piece) -> Piece:
        return _lambda((name,), name, body)

    def lambda_of_two(
        self, opening: int, one: int, _comma: int, two: int, _close: int, _arrow: int, body: Piece
    ) -> Piece:
        return _lambda((one, two), opening, body)

    def decimal_text(self, word: int, string: int) -> Piece:
        def make(t: Tokens) -> syntax.DecimalLiteral:
            return syntax.DecimalLiteral(text_of(t, string), span_of(t, word, string))

        return Piece(make, word, string)

    def plain_type(self, word: int) -> Piece:
        return Piece(lambda t: type_named(t.texts[word]), word, word)

    def sized_type(
        self, word: int, _open: int, digits: int, _comma: int | None, scale: int | None, close: int
    ) -> Piece:
        return Piece(lambda t: _written_type(t, word, close), word, close)

    def struct_field(self, name: int, _colon: int | None, inner: Piece) -> Piece:
        return Piece(lambda t: None, name, inner.last, (inner,))

    def nested_type(self, word: int, *rest: Part) -> Piece:
        close = token_of(rest[-1])
        return Piece(lambda t: _written_type(t, word, close), word, close)

    def unary(self, operator: int, operand: Piece) -> Piece:
        make_operand, last = operand.make, operand.last

        def make(t: Tokens) -> syntax.Unary:
            return syntax.Unary(t.kinds[operator], make_operand(t), span_of(t, operator, last))

        return Piece(make, operator, last, (operand,))

    def binary(self, left: Piece, operator: int, right: Piece) -> Piece:
        make_left, make_right, first, last = left.make, right.make, left.first, right.last

        def make(t: Tokens) -> syntax.Binary:
            text = t.texts[operator]
            written = _ONE_SPELLING.get(text) or text.upper()
            return syntax.Binary(written, make_left(t), make_right(t), span_of(t, first, last))

        return Piece(make, first, last, (left, right))

    def any_of(self, *parts: Part) -> Piece:
        return _chain("OR", pieces_of(parts))

    def all_of(self, *parts: Part) -> Piece:
        return _chain("AND", pieces_of(parts))

    def between(
        self,
        operand: Piece,
        negated: int | None,
        _between: int,
        low: Piece,
        _and: int,
        high: Piece,
    ) -> Piece:
        first, last, is_negated = operand.first, high.last, negated is not None
        make_operand, make_low, make_high = operand.make, low.make, high.make

        def make(t: Tokens) -> syntax.Between:
            span = span_of(t, first, last)
            return syntax.Between(make_operand(t), make_low(t), make_high(t), is_negated, span)

        return Piece(make, first, last, (operand, low, high))

    def in_list(
        self, operand: Piece, negated: int | None, _in: int, _open: int, *rest: Part
    ) -> Piece:
        values, close = pieces_of(rest), token_of(rest[-1])
        first, is_negated = operand.first, negated is not None
        make_operand, makes = operand.make, [value.make for value in values]

        def make(t: Tokens) -> syntax.InList:
            span = span_of(t, first, close)
            return syntax.InList(make_operand(t), make_all(makes, t), is_negated, span)

        return Piece(make, first, close, (operand, *values))

    def in_select(
        self, operand: Piece, negated: int | None, _in: int, _open: int, select: Piece, close: int
    ) -> Piece:
        first, is_negated = operand.first, negated is not None
        make_operand, make_select = operand.make, select.make

        def make(t: Tokens) -> syntax.InSelect:
            span = span_of(t, first, close)
            return syntax.InSelect(make_operand(t), make_select(t), is_negated, span)

        return Piece(make, first, close, (operand, select))

    def call_select(self, name: int, _open: int, select: Piece, close: int) -> Piece:
        make_select = select.make

        def make(t: Tokens) -> syntax.Exists:
            return syntax.Exists(name_at(t, name), make_select(t), span_of(t, name, close))

        return Piece(make, name, close, (select,))

    def like(
        self,
        operand: Piece,
        negated: int | None,
        operator: int,
        pattern: Piece,
        _escape: int | None,
        escape: Piece | None,
    ) -> Piece:
        first, last, is_negated = operand.first, (escape or pattern).last, negated is not None
        make_operand, make_pattern, make_escape = operand.make, pattern.make, maker_of(escape)

        def make(t: Tokens) -> syntax.Like:
            written = None if make_escape is None else make_escape(t)
            span = Span(t.source, t.starts[first], t.ends[last])
            matched, text = make_operand(t), make_pattern(t)
            return syntax.Like(t.kinds[operator], matched, text, written, is_negated, span)

        inner = (operand, pattern) if escape is None else (operand, pattern, escape)
        return Piece(make, first, last, inner)

    def is_(self, operand: Piece, _is: int, negated: int | None, what: int) -> Piece:
        make_operand, first, is_negated = operand.make, operand.first, negated is not None

        def make(t: Tokens) -> syntax.Is:
            return syntax.Is(make_operand(t), t.kinds[what], is_negated, span_of(t, first, what))

        return Piece(make, first, what, (operand,))

    def is_distinct(
        self,
        left: Piece,
        _is: int,
        negated: int | None,
        _distinct: int,
        _from: int,
        right: Piece,
    ) -> Piece:
        make_left, make_right, is_negated = left.make, right.make, negated is not None
        first, last = left.first, right.last

        def make(t: Tokens) -> syntax.IsDistinct:
            span = span_of(t, first, last)
            return syntax.IsDistinct(make_left(t), make_right(t), is_negated, span)

        return Piece(make, first, last, (left, right))

    def call(self, name: int, _open: int, close: int) -> Piece:
        return _call(name, [], close, star=False, distinct=False)

    def call_star(self, name: int, _open: int, _star: int, close: int) -> Piece:
        return _call(name, [], close, star=True, distinct=False)

    def call_arguments(self, name: int, _open: int, distinct: int | None, *rest: Part) -> Piece:
        arguments, close = pieces_of(rest), token_of(rest[-1])
        return _call(name, arguments, close, star=False, distinct=distinct is not None)

    def call_nulls(self, name: int, open_: int, distinct: int | None, *rest: Part) -> Piece:
        """`first(x IGNORE NULLS)`, which is `first(x) IGNORE NULLS`."""
        *arguments, word, _, close = rest
        call = self.call_arguments(name, open_, distinct, *arguments, close)
        make_call, at = call.make, token_of(word)

        def make(t: Tokens) -> syntax.Call:
            made: syntax.Call = make_call(t)
            return replace(made, ignores_nulls=t.kinds[at] == "IGNORE")

        return Piece(make, call.first, call.last, (call,))

    def over(
        self,
        call: Piece,
        _over: int,
        _open: int,
        partition: Piece | None,
        order: Piece | None,
        frame: Piece | None,
        close: int,
    ) -> Piece:
        make_call, first = call.make, call.first
        make_partition, make_order, make_frame = map(maker_of, (partition, order, frame))

        def make(t: Tokens) -> syntax.Over:
            return syntax.Over(
                make_call(t),
                () if make_partition is None else make_partition(t),
                () if make_order is None else make_order(t),
                make_optional(make_frame, t),
                span_of(t, first, close),
            )

        return Piece(make, first, close, pieces_of((call, partition, order, frame)))

    def partition_by(self, _word: int, _by: int, *parts: Part) -> Piece:
        return List(pieces_of(parts))

    def sorting(self, _word: int, _by: int, *parts: Part) -> Piece:
        return List(pieces_of(parts))

    def frame(self, unit: int, start: Piece) -> Piece:
        make_start, last = start.make, start.last

        def make(t: Tokens) -> syntax.Frame:
            span = span_of(t, unit, last)
            current = syntax.FrameEnd("CURRENT", None, False, span)
            return syntax.Frame(t.kinds[unit], make_start(t), current, span)

        return Piece(make, unit, last, (start,))

    def frame_between(self, unit: int, _between: int, start: Piece, _and: int, end: Piece) -> Piece:
        make_start, make_end, last = start.make, end.make, end.last

        def make(t: Tokens) -> syntax.Frame:
            return syntax.Frame(t.kinds[unit], make_start(t), make_end(t), span_of(t, unit, last))

        return Piece(make, unit, last, (start, end))

    def unbounded_end(self, word: int, direction: int) -> Piece:
        def make(t: Tokens) -> syntax.FrameEnd:
            following = t.kinds[direction] == "FOLLOWING"
            return syntax.FrameEnd("UNBOUNDED", None, following, span_of(t, word, direction))

        return Piece(make, word, direction)

    def current_row(self, word: int, row: int) -> Piece:
        return Piece(
            lambda t: syntax.FrameEnd("CURRENT", None, False, span_of(t, word, row)), word, row
        )

    def frame_end(self, amount: Piece, direction: int) -> Piece:
        make_amount, first = amount.make, amount.first

        def make(t: Tokens) -> syntax.FrameEnd:
            following = t.kinds[direction] == "FOLLOWING"
            return syntax.FrameEnd("AT", make_amount(t), following, span_of(t, first, direction))

        return Piece(make, first, direction, (amount,))

    def filter_suffix(
        self, _filter: int, _open: int, _where: int, condition: Piece, close: int
    ) -> Piece:
        make_condition = condition.make
        return Piece(lambda t: {"where": make_condition(t)}, condition.first, close, (condition,))

    def within_suffix(self, word: int, *rest: Part) -> Piece:
        items, close = pieces_of(rest), token_of(rest[-1])
        makes = [item.make for item in items]
        return Piece(lambda t: {"within": make_all(makes, t)}, word, close, items)

    def nulls_suffix(self, word: int, nulls: int) -> Piece:
        return Piece(lambda t: {"ignores_nulls": t.kinds[word] == "IGNORE"}, word, nulls)

    def suffixed_call(self, call: Piece, *suffixes: Piece) -> Piece:
        make_call, makes, first = call.make, [suffix.make for suffix in suffixes], call.first
        last = suffixes[-1].last

        def make(t: Tokens) -> syntax.Call:
            more: dict[str, Any] = {}
            for make_suffix in makes:
                more |= make_suffix(t)
            made: syntax.Call = make_call(t)
            return replace(made, span=span_of(t, first, last), **more)

        return Piece(make, first, last, (call, *suffixes))

    def call_in(
        self, name: int, _open: int, part: Piece, _in: int, whole: Piece, close: int
    ) -> Piece:
        return _call(name, [part, whole], close, star=False, distinct=False, joined="IN")

    def call_from(
        self, name: int, _open: int, field: int, _from: int, value: Piece, close: int
    ) -> Piece:
        return _call(
            name, [self.column(field), value], close, star=False, distinct=False, joined="FROM"
        )

    def trim_from(
        self, name: int, _open: int, characters: Piece, _from: int, text: Piece, close: int
    ) -> Piece:
        return _call(name, [characters, text], close, star=False, distinct=False, joined="BOTH")

    def trim_side(
        self,
        name: int,
        _open: int,
        side: int,
        characters: Piece | None,
        _from: int,
        text: Piece,
        close: int,
    ) -> Piece:
        arguments = [text] if characters is None else [characters, text]
        makes = [argument.make for argument in arguments]

        def make(t: Tokens) -> syntax.Call:
            span, word = span_of(t, name, close), t.kinds[side]
            return syntax.Call(name_at(t, name), make_all(makes, t), False, False, span, word)

        return Piece(make, name, close, arguments)

    def cast(
        self, word: int, _open: int, operand: Piece, _as: int, target: Piece, close: int
    ) -> Piece:
        make_operand, make_type = operand.make, target.make

        def make(t: Tokens) -> syntax.Cast:
            wanted, is_tried = make_type(t), t.kinds[word] == "TRY_CAST"
            return syntax.Cast(make_operand(t), wanted, span_of(t, word, close), is_tried)

        return Piece(make, word, close, (operand,))

    def cast_after(self, operand: Piece, _colons: int, target: Piece) -> Piece:
        make_operand, make_type, first, last = operand.make, target.make, operand.first, target.last

        def make(t: Tokens) -> syntax.Cast:
            return syntax.Cast(make_operand(t), make_type(t), span_of(t, first, last))

        return Piece(make, first, last, (operand,))

    def branch(self, when: int, condition: Piece, _then: int, value: Piece) -> Piece:
        make_condition, make_value = condition.make, value.make

        def make(t: Tokens) -> tuple[syntax.Expression, syntax.Expression]:
            return make_condition(t), make_value(t)

        return Piece(make, when, value.last, (condition, value))

    def case(self, word: int, operand: Piece | None, *rest: Any) -> Piece:
        *branches, _else, otherwise, close = rest
        make_operand, make_otherwise = maker_of(operand), maker_of(otherwise)
        makes = [branch.make for branch in branches]

        def make(t: Tokens) -> syntax.Case:
            subject = make_optional(make_operand, t)
            default = make_optional(make_otherwise, t)
            return syntax.Case(subject, make_all(makes, t), default, span_of(t, word, close))

        return Piece(make, word, close, pieces_of((operand, *branches, otherwise)))

    def parenthesised(self, opening: int, inner: Piece, close: int) -> Piece:
        inner = inner.inner if isinstance(inner, Group) else inner
        make_inner = inner.make

        def make(t: Tokens) -> syntax.Parenthesised:
            return syntax.Parenthesised(make_inner(t), span_of(t, opening, close))

        return Group(make, opening, close, inner)


def _written_type(t: Tokens, first: int, last: int) -> ColumnType:
    """The type that some tokens spell; NULL, which goes with everything, where they do not."""
    words = [
        f"`{t.texts[at][1:-1]}`" if t.texts[at].startswith('"') else t.texts[at]
        for at in range(first, last + 1)
    ]
    try:
        return type_of_text(" ".join(words))
    except (ValueError, IndexError):
        return ColumnType.NULL


def _lambda(names: tuple[int, ...], first: int, body: Piece) -> Piece:
    make_body, last = body.make, body.last

    def make(t: Tokens) -> syntax.Lambda:
        parameters = tuple(name_at(t, name) for name in names)
        return syntax.Lambda(parameters, make_body(t), span_of(t, first, last))

    return Piece(make, first, last, (body,))


def _chain(word: str, written: list[Piece]) -> Piece:
    first, last = written[0].first, written[-1].last
    operands = Chain.flattened(word, written)
    makes = [operand.make for operand in operands]

    def make(t: Tokens) -> syntax.Logical:
        return syntax.Logical(word, make_all(makes, t), span_of(t, first, last))

    return Chain(make, first, last, word, operands)


_ONE_SPELLING = {"!=": "<>", "==": "="}


def _call(
    name: int,
    arguments: list[Piece],
    close: int,
    *,
    star: bool,
    distinct: bool,
    joined: str | None = None,
) -> Piece:
    makes = [argument.make for argument in arguments]

    def make(t: Tokens) -> syntax.Call:
        span = span_of(t, name, close)
        return syntax.Call(name_at(t, name), make_all(makes, t), star, distinct, span, joined)

    return Piece(make, name, close, arguments)
