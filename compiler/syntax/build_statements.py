"""The rules of queries and statements, as makers of syntax nodes (see `parse_build.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lark import v_args

from cqc.compiler.meaning.types import type_named
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.build_expressions import ExpressionPieces
from cqc.compiler.syntax.pieces import (
    Clause,
    List,
    Make,
    Part,
    Piece,
    SelectPiece,
    leaf,
    make_all,
    make_optional,
    maker_of,
    name_at,
    pieces_of,
    span_of,
    token_of,
)

if TYPE_CHECKING:
    from cqc.compiler.syntax.tokens import Tokens

Joined = tuple[Piece, Piece | None]
"""A FROM item and its ON condition."""


@v_args(inline=True)
class StatementPieces(ExpressionPieces):
    """All rules of the grammar."""

    # SELECT list and FROM

    def star(self, at: int) -> Piece:
        return leaf(at, lambda t: syntax.Star(None, span_of(t, at, at)))

    def qualified_star(self, name: int, _dot: int, star: int) -> Piece:
        def make(t: Tokens) -> syntax.Star:
            return syntax.Star(name_at(t, name), span_of(t, name, star))

        return Piece(make, name, star)

    def output(self, expression: Piece) -> Piece:
        make_expression = expression.make

        def make(t: Tokens) -> syntax.SelectItem:
            made = make_expression(t)
            return syntax.SelectItem(made, None, made.span)

        return Piece(make, expression.first, expression.last, (expression,))

    def named_output(self, expression: Piece, _as: int, name: int) -> Piece:
        make_expression, first = expression.make, expression.first

        def make(t: Tokens) -> syntax.SelectItem:
            span = span_of(t, first, name)
            return syntax.SelectItem(make_expression(t), name_at(t, name), span)

        return Piece(make, first, name, (expression,))

    def outputs(self, *parts: Part) -> Piece:
        return List(pieces_of(parts))

    def range_extent(self, opening: int, _range: int, duration: Piece, close: int) -> Piece:
        make_duration = duration.make
        return Piece(lambda t: (make_duration(t), None), opening, close)

    def rows_extent(self, opening: int, _rows: int, number: int, close: int) -> Piece:
        make_number = self.number(number).make
        return Piece(lambda t: (None, make_number(t)), opening, close)

    def alias(self, word: int | None, name: int) -> Piece:
        return Piece(lambda t: name_at(t, name), name if word is None else word, name)

    def from_item(self, relation: int, alias: Piece | None, extent: Piece | None) -> Piece:
        last = max([relation, *(part.last for part in pieces_of((alias, extent)))])
        make_alias, make_extent = maker_of(alias), maker_of(extent)

        def make(t: Tokens) -> syntax.FromItem:
            length, count = (None, None) if make_extent is None else make_extent(t)
            named = make_optional(make_alias, t)
            span = span_of(t, relation, last)
            return syntax.FromItem(name_at(t, relation), named, length, count, span)

        return Piece(make, relation, last)

    def from_item_extent_first(self, relation: int, extent: Piece, alias: Piece) -> Piece:
        return self.from_item(relation, alias, extent)

    def listed_item(self, _comma: int, item: Piece) -> Joined:
        return item, None

    def joined_item(self, _kind: int | None, _join: int, item: Piece) -> Joined:
        return item, None

    def joined_item_on(
        self, _kind: int | None, _join: int, item: Piece, _on: int, condition: Piece
    ) -> Joined:
        return item, condition

    def from_clause(self, _from: int, item: Piece, *joined: Joined) -> tuple[Piece, Piece]:
        items = [item, *(each for each, _ in joined)]
        return List(items), List([on for _, on in joined if on is not None])

    # The clauses after FROM

    def where(self, word: int, condition: Piece) -> Clause:
        return Clause("WHERE", word, condition)

    def window(self, word: int, condition: Piece) -> Clause:
        return Clause("WINDOW", word, condition)

    def max_window(self, word: int, duration: Piece) -> Clause:
        return Clause("MAXWINDOW", word, duration)

    def every(self, word: int, duration: Piece) -> Clause:
        return Clause("EVERY", word, duration)

    def having(self, word: int, condition: Piece) -> Clause:
        return Clause("HAVING", word, condition)

    def limit(self, word: int, number: int) -> Clause:
        return Clause("LIMIT", word, self.number(number))

    def group_by(self, word: int, _by: int, *parts: Part) -> Clause:
        return Clause("GROUP BY", word, List(pieces_of(parts)))

    def order_by(self, word: int, _by: int, *parts: Part) -> Clause:
        return Clause("ORDER BY", word, List(pieces_of(parts)))

    def begin_end(self, begin: Piece, end: Piece) -> Clause:
        return Clause("BEGIN", begin.first, List([begin, end]))

    def begin(self, word: int, exclusive: int | None, instant: Piece) -> Piece:
        make_instant, last, is_exclusive = instant.make, instant.last, exclusive is not None

        def make(t: Tokens) -> syntax.WindowEnd:
            return syntax.WindowEnd(make_instant(t), is_exclusive, span_of(t, word, last))

        return Piece(make, word, last, (instant,))

    end = begin

    def nulls(self, _nulls: int, which: int) -> int:
        return which

    def order_item(self, expression: Piece, direction: int | None, nulls: int | None) -> Piece:
        make_expression, first = expression.make, expression.first
        last = max(expression.last, direction or 0, nulls or 0)

        def make(t: Tokens) -> syntax.OrderItem:
            descending = direction is not None and t.kinds[direction] == "DESC"
            nulls_first = None if nulls is None else t.kinds[nulls] == "FIRST"
            span = span_of(t, first, last)
            return syntax.OrderItem(make_expression(t), descending, nulls_first, span)

        return Piece(make, first, last, (expression,))

    def select(
        self,
        word: int,
        distinct: int | None,
        outputs: Piece,
        sources: tuple[Piece, Piece],
        *clauses: Clause,
    ) -> SelectPiece:
        items, conditions = sources
        inner = [outputs, items, conditions, *clauses]
        last = max(piece.last for piece in inner)
        given: dict[str, Make] = {}
        repeated = [clause for clause in clauses if not clause.is_first_in(given)]
        lists = (outputs.make, items.make, conditions.make)
        make = _select_maker(distinct is not None, lists, given, (word, last))
        return SelectPiece(make, word, last, inner, repeated)

    # Statements

    def bare_query(self, select: SelectPiece) -> SelectPiece:
        make_select = select.make

        def make(t: Tokens) -> syntax.CreateQuery:
            made = make_select(t)
            return syntax.CreateQuery(None, made, made.span)

        return SelectPiece(make, select.first, select.last, [select], select.repeated)

    def named_query(
        self, word: int, _query: int, name: int, _as: int, select: SelectPiece
    ) -> SelectPiece:
        make_select, last = select.make, select.last

        def make(t: Tokens) -> syntax.CreateQuery:
            return syntax.CreateQuery(name_at(t, name), make_select(t), span_of(t, word, last))

        return SelectPiece(make, word, last, [select], select.repeated)

    def column_declaration(self, name: int, kind: int) -> Piece:
        def make(t: Tokens) -> syntax.ColumnDeclaration:
            declared = type_named(t.texts[kind])
            return syntax.ColumnDeclaration(name_at(t, name), declared, span_of(t, name, kind))

        return Piece(make, name, kind)

    def watermark(self, word: int, _for: int, column: int, _as: int, definition: Piece) -> Piece:
        make_definition, last = definition.make, definition.last

        def make(t: Tokens) -> syntax.Watermark:
            span = span_of(t, word, last)
            return syntax.Watermark(name_at(t, column), make_definition(t), span)

        return Piece(make, word, last, (definition,))

    def declarations(self, *parts: Part) -> Piece:
        return List(pieces_of(parts))

    def option(self, key: int, _equal: int, value: Piece) -> Piece:
        make_value, last = value.make, value.last

        def make(t: Tokens) -> syntax.Option:
            return syntax.Option(name_at(t, key), make_value(t), span_of(t, key, last))

        return Piece(make, key, last)

    def options(self, word: int, _open: int, *parts: Part) -> Piece:
        makes = [piece.make for piece in pieces_of(parts)]
        return Piece(lambda t: make_all(makes, t), word, token_of(parts[-1]))

    def create_stream(self, word: int, *rest: Any) -> Piece:
        return _create_relation(True, word, *rest)

    def create_table(self, word: int, *rest: Any) -> Piece:
        return _create_relation(False, word, *rest)

    def set_option(self, word: int, name: int, _equal: int, value: Piece) -> Piece:
        make_value, last = value.make, value.last

        def make(t: Tokens) -> syntax.SetOption:
            return syntax.SetOption(name_at(t, name), make_value(t), span_of(t, word, last))

        return Piece(make, word, last, (value,))


def _select_maker(
    distinct: bool,
    lists: tuple[Make, Make, Make],
    given: dict[str, Make],
    ends: tuple[int, int],
) -> Make:
    """How to make a Select from its lists (outputs, FROM items, ON conditions) and its clauses by keyword."""
    make_outputs, make_items, make_conditions = lists
    first, last = ends
    keywords = ("WHERE", "WINDOW", "MAXWINDOW", "EVERY", "HAVING", "LIMIT")
    where, window, max_window, every, having, limit = (given.get(word) for word in keywords)
    begin_end, group_by, order_by = (given.get(word) for word in ("BEGIN", "GROUP BY", "ORDER BY"))

    def make(t: Tokens) -> syntax.Select:
        begin, end = (None, None) if begin_end is None else begin_end(t)
        return syntax.Select(
            distinct,
            make_outputs(t),
            make_items(t),
            make_conditions(t),
            make_optional(where, t),
            make_optional(window, t),
            make_optional(max_window, t),
            begin,
            end,
            make_optional(every, t),
            () if group_by is None else group_by(t),
            make_optional(having, t),
            () if order_by is None else order_by(t),
            make_optional(limit, t),
            span_of(t, first, last),
        )

    return make


def _create_relation(
    is_stream: bool,
    word: int,
    _kind: int,
    name: int,
    _open: int,
    declarations: Piece,
    close: int,
    options: Piece | None,
) -> Piece:
    """CREATE STREAM or CREATE TABLE: columns and watermarks are told apart by their nodes."""
    last = close if options is None else options.last
    make_declarations, make_options = declarations.make, maker_of(options)

    def make(t: Tokens) -> syntax.CreateRelation:
        declared = make_declarations(t)
        return syntax.CreateRelation(
            is_stream,
            name_at(t, name),
            tuple(each for each in declared if isinstance(each, syntax.ColumnDeclaration)),
            tuple(each for each in declared if isinstance(each, syntax.Watermark)),
            () if make_options is None else make_options(t),
            span_of(t, word, last),
        )

    return Piece(make, word, last, (declarations,))
