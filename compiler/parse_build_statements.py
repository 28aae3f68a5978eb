"""The rules of queries and statements, as makers of syntax nodes (see `parse_build.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import Token, v_args

from cqc.compiler import syntax
from cqc.compiler.parse_build import ExpressionPieces, Part
from cqc.compiler.parse_pieces import (
    Make,
    Piece,
    leaf,
    make_all,
    make_optional,
    maker_of,
    name_at,
    number_of,
    span_of,
)
from cqc.compiler.types import TYPE_NAMES

if TYPE_CHECKING:
    from cqc.compiler.tokens import Tokens


class Clause(Piece):
    """A clause of a query: its node, the keyword it begins with, and the fields of Select that it fills."""

    __slots__ = ("keyword",)

    def __init__(self, keyword: str, make: Make, first: int, inner: list[Piece]) -> None:
        super().__init__(make, first, inner[-1].last if inner else first + 1, inner)
        self.keyword = keyword


class SelectPiece(Piece):
    """A query, with the clauses that were given once too often."""

    __slots__ = ("repeated",)

    def __init__(
        self, make: Make, first: int, last: int, inner: list[Piece], repeated: list[Clause]
    ) -> None:
        super().__init__(make, first, last, inner)
        self.repeated = repeated


@v_args(inline=True)
class StatementPieces(ExpressionPieces):
    """All rules of the grammar."""

    # SELECT list and FROM

    def star(self, token: Token) -> Piece:
        at = number_of(token)
        return leaf(at, lambda t: syntax.Star(None, span_of(t, at, at)))

    def qualified_star(self, name: Token, _dot: Token, star: Token) -> Piece:
        at, last = number_of(name), number_of(star)
        return Piece(lambda t: syntax.Star(name_at(t, at), span_of(t, at, last)), at, last)

    def output(self, expression: Piece) -> Piece:
        first, last, make_expression = expression.first, expression.last, expression.make

        def make(t: Tokens) -> syntax.SelectItem:
            made = make_expression(t)
            return syntax.SelectItem(made, None, made.span)

        return Piece(make, first, last, (expression,))

    def named_output(self, expression: Piece, _as: Token, name: Token) -> Piece:
        first, last, make_expression = expression.first, number_of(name), expression.make

        def make(t: Tokens) -> syntax.SelectItem:
            span = span_of(t, first, last)
            return syntax.SelectItem(make_expression(t), name_at(t, last), span)

        return Piece(make, first, last, (expression,))

    def outputs(self, *parts: Part) -> Piece:
        return sequence([part for part in parts if isinstance(part, Piece)])

    def range_extent(self, opening: Token, _range: Token, duration: Piece, close: Token) -> Piece:
        make_duration = duration.make
        return Piece(
            lambda t: (make_duration(t), None), number_of(opening), number_of(close), (duration,)
        )

    def rows_extent(self, opening: Token, _rows: Token, number: Token, close: Token) -> Piece:
        make_number = self.number(number).make
        return Piece(lambda t: (None, make_number(t)), number_of(opening), number_of(close))

    def alias(self, word: Token | None, name: Token) -> Piece:
        last = number_of(name)
        first = last if word is None else number_of(word)
        return Piece(lambda t: name_at(t, last), first, last)

    def from_item(self, relation: Token, alias: Piece | None, extent: Piece | None) -> Piece:
        at = number_of(relation)
        last = max([at, *(part.last for part in (alias, extent) if part)])
        make_alias, make_extent = maker_of(alias), maker_of(extent)

        def make(t: Tokens) -> syntax.FromItem:
            length, count = (None, None) if make_extent is None else make_extent(t)
            named = make_optional(make_alias, t)
            return syntax.FromItem(name_at(t, at), named, length, count, span_of(t, at, last))

        return Piece(make, at, last)

    def from_item_extent_first(self, relation: Token, extent: Piece, alias: Piece) -> Piece:
        return self.from_item(relation, alias, extent)

    def listed_item(self, _comma: Token, item: Piece) -> tuple[Piece, Piece | None]:
        return item, None

    def joined_item(
        self, _kind: Token | None, _join: Token, item: Piece
    ) -> tuple[Piece, Piece | None]:
        return item, None

    def joined_item_on(
        self, _kind: Token | None, _join: Token, item: Piece, _on: Token, condition: Piece
    ) -> tuple[Piece, Piece | None]:
        return item, condition

    def from_clause(
        self, _from: Token, item: Piece, *joined: tuple[Piece, Piece | None]
    ) -> tuple[Piece, Piece]:
        items = [item, *(each for each, _ in joined)]
        return sequence(items), sequence([on for _, on in joined if on is not None])

    # The clauses after FROM

    def where(self, word: Token, condition: Piece) -> Clause:
        return Clause("WHERE", condition.make, number_of(word), [condition])

    def window(self, word: Token, condition: Piece) -> Clause:
        return Clause("WINDOW", condition.make, number_of(word), [condition])

    def max_window(self, word: Token, duration: Piece) -> Clause:
        return Clause("MAXWINDOW", duration.make, number_of(word), [duration])

    def every(self, word: Token, duration: Piece) -> Clause:
        return Clause("EVERY", duration.make, number_of(word), [duration])

    def having(self, word: Token, condition: Piece) -> Clause:
        return Clause("HAVING", condition.make, number_of(word), [condition])

    def limit(self, word: Token, number: Token) -> Clause:
        return Clause("LIMIT", self.number(number).make, number_of(word), [self.number(number)])

    def group_by(self, word: Token, _by: Token, *parts: Part) -> Clause:
        keys = sequence([part for part in parts if isinstance(part, Piece)])
        return Clause("GROUP BY", keys.make, number_of(word), [keys])

    def order_by(self, word: Token, _by: Token, *parts: Part) -> Clause:
        keys = sequence([part for part in parts if isinstance(part, Piece)])
        return Clause("ORDER BY", keys.make, number_of(word), [keys])

    def begin_end(self, begin: Piece, end: Piece) -> Clause:
        make_begin, make_end = begin.make, end.make
        return Clause("BEGIN", lambda t: (make_begin(t), make_end(t)), begin.first, [begin, end])

    def begin(self, word: Token, exclusive: Token | None, instant: Piece) -> Piece:
        first, last, make_instant = number_of(word), instant.last, instant.make
        is_exclusive = exclusive is not None

        def make(t: Tokens) -> syntax.WindowEnd:
            return syntax.WindowEnd(make_instant(t), is_exclusive, span_of(t, first, last))

        return Piece(make, first, last, (instant,))

    end = begin

    def nulls(self, _nulls: Token, which: Token) -> Token:
        return which

    def order_item(self, expression: Piece, direction: Token | None, nulls: Token | None) -> Piece:
        first, make_expression = expression.first, expression.make
        last = max([expression.last, *(number_of(word) for word in (direction, nulls) if word)])
        descending = direction is not None and direction.type == "DESC"
        nulls_first = None if nulls is None else nulls.type == "FIRST"

        def make(t: Tokens) -> syntax.OrderItem:
            span = span_of(t, first, last)
            return syntax.OrderItem(make_expression(t), descending, nulls_first, span)

        return Piece(make, first, last, (expression,))

    def select(
        self,
        word: Token,
        distinct: Token | None,
        outputs: Piece,
        sources: tuple[Piece, Piece],
        *clauses: Clause,
    ) -> SelectPiece:
        items, conditions = sources
        inner = [outputs, items, conditions, *clauses]
        first, last = number_of(word), max(piece.last for piece in inner)
        given = {clause.keyword: clause.make for clause in reversed(clauses)}
        kept = {id(make) for make in given.values()}
        repeated = [clause for clause in clauses if id(clause.make) not in kept]
        make = select_maker(distinct is not None, outputs, items, conditions, given, (first, last))
        return SelectPiece(make, first, last, inner, repeated)

    # Statements

    def bare_query(self, select: SelectPiece) -> SelectPiece:
        make_select = select.make

        def make(t: Tokens) -> syntax.CreateQuery:
            made = make_select(t)
            return syntax.CreateQuery(None, made, made.span)

        return SelectPiece(make, select.first, select.last, [select], select.repeated)

    def named_query(
        self, word: Token, _query: Token, name: Token, _as: Token, select: SelectPiece
    ) -> SelectPiece:
        first, at, last, make_select = (
            number_of(word),
            number_of(name),
            select.last,
            select.make,
        )

        def make(t: Tokens) -> syntax.CreateQuery:
            return syntax.CreateQuery(name_at(t, at), make_select(t), span_of(t, first, last))

        return SelectPiece(make, first, last, [select], select.repeated)

    def column_declaration(self, name: Token, kind: Token) -> Piece:
        at, last = number_of(name), number_of(kind)

        def make(t: Tokens) -> syntax.ColumnDeclaration:
            declared = TYPE_NAMES[t.texts[last].upper()]
            return syntax.ColumnDeclaration(name_at(t, at), declared, span_of(t, at, last))

        return Piece(make, at, last)

    def watermark(
        self, word: Token, _for: Token, column: Token, _as: Token, definition: Piece
    ) -> Piece:
        first, at, last, make_definition = (
            number_of(word),
            number_of(column),
            definition.last,
            definition.make,
        )

        def make(t: Tokens) -> syntax.Watermark:
            return syntax.Watermark(name_at(t, at), make_definition(t), span_of(t, first, last))

        return Piece(make, first, last, (definition,))

    def declarations(self, *parts: Part) -> Piece:
        return sequence([part for part in parts if isinstance(part, Piece)])

    def option(self, key: Token, _equal: Token, value: Piece) -> Piece:
        at, last, make_value = number_of(key), value.last, value.make

        def make(t: Tokens) -> syntax.Option:
            return syntax.Option(name_at(t, at), make_value(t), span_of(t, at, last))

        return Piece(make, at, last)

    def options(self, _with: Token, _open: Token, *parts: Part) -> Piece:
        pieces = [part for part in parts if isinstance(part, Piece)]
        makes = [piece.make for piece in pieces]
        return Piece(lambda t: make_all(makes, t), pieces[0].first, number_of(parts[-1]), pieces)

    def create_stream(self, word: Token, *rest: Any) -> Piece:
        return create_relation(True, word, *rest)

    def create_table(self, word: Token, *rest: Any) -> Piece:
        return create_relation(False, word, *rest)

    def set_option(self, word: Token, name: Token, _equal: Token, value: Piece) -> Piece:
        first, at, last, make_value = number_of(word), number_of(name), value.last, value.make

        def make(t: Tokens) -> syntax.SetOption:
            return syntax.SetOption(name_at(t, at), make_value(t), span_of(t, first, last))

        return Piece(make, first, last, (value,))


def sequence(pieces: list[Piece]) -> Piece:
    """Several pieces of a list as one that makes a tuple."""
    makes = [piece.make for piece in pieces]
    first, last = (pieces[0].first, pieces[-1].last) if pieces else (0, 0)
    return Piece(lambda t: make_all(makes, t), first, last, pieces)


def select_maker(
    distinct: bool,
    outputs: Piece,
    items: Piece,
    conditions: Piece,
    given: dict[str, Make],
    ends: tuple[int, int],
) -> Make:
    """How to make a Select from its clauses by keyword."""
    first, last = ends
    make_outputs, make_items, make_conditions = outputs.make, items.make, conditions.make
    keywords = ("WHERE", "WINDOW", "MAXWINDOW", "EVERY", "HAVING", "LIMIT")
    where, window, max_window, every, having, limit = (given.get(word) for word in keywords)
    begin_end, group_by, order_by = (given.get(word) for word in ("BEGIN", "GROUP BY", "ORDER BY"))

    def make(t: Tokens) -> syntax.Select:
        begin, end = (None, None) if begin_end is None else begin_end(t)
        return syntax.Select(
            distinct=distinct,
            outputs=make_outputs(t),
            items=make_items(t),
            join_conditions=make_conditions(t),
            where=make_optional(where, t),
            window=make_optional(window, t),
            max_window=make_optional(max_window, t),
            begin=begin,
            end=end,
            every=make_optional(every, t),
            group_by=() if group_by is None else group_by(t),
            having=make_optional(having, t),
            order_by=() if order_by is None else order_by(t),
            limit=make_optional(limit, t),
            span=span_of(t, first, last),
        )

    return make


def create_relation(
    is_stream: bool,
    word: Token,
    _kind: Token,
    name: Token,
    _open: Token,
    declarations: Piece,
    close: Token,
    options: Piece | None,
) -> Piece:
    """CREATE STREAM or CREATE TABLE: columns and watermarks are told apart by their nodes."""
    first, at = number_of(word), number_of(name)
    last = number_of(close) if options is None else options.last
    make_declarations, make_options = declarations.make, maker_of(options)

    def make(t: Tokens) -> syntax.CreateRelation:
        declared = make_declarations(t)
        return syntax.CreateRelation(
            is_stream,
            name_at(t, at),
            tuple(each for each in declared if isinstance(each, syntax.ColumnDeclaration)),
            tuple(each for each in declared if isinstance(each, syntax.Watermark)),
            () if make_options is None else make_options(t),
            span_of(t, first, last),
        )

    return Piece(make, first, last, (declarations,))
