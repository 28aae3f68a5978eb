"""The rules of queries, from the SELECT list to UNION ALL, as makers of syntax nodes (see `pieces`)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

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
    from collections.abc import Sequence

    from cqc.compiler.syntax.tokens import Tokens

UNBOUNDED = "UNBOUNDED"  # what MAXWINDOW UNBOUNDED makes in the place of a duration
Joined = tuple[Piece, Piece | None, int]
"""A FROM item, its ON condition, and the token of LEFT, RIGHT, FULL, JOIN or a comma."""


class QueryPieces(ExpressionPieces):
    """The rules of expressions and queries."""

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

    def windowed_source(self, first: int, second: int | None, partition: Piece | None) -> Piece:
        """The relation inside a table function, with the word TABLE before it where there are two names."""
        relation = first if second is None else second
        last = relation if partition is None else partition.last
        make_key = maker_of(partition)

        def make(t: Tokens) -> tuple[syntax.Name, syntax.Name | None, syntax.Expression | None]:
            word = None if second is None else name_at(t, first)
            return name_at(t, relation), word, make_optional(make_key, t)

        return Piece(make, first, last, pieces_of((partition,)))

    def partition(self, word: int, _by: int, key: Piece) -> Piece:
        return Piece(key.make, word, key.last, (key,))

    def windowed(self, name: int, _open: int, source: Piece, *rest: Part) -> Piece:
        arguments, close = pieces_of(rest), token_of(rest[-1])
        make_source, makes = source.make, [each.make for each in arguments]

        def make(t: Tokens) -> tuple[syntax.Name, syntax.TableFunction]:
            relation, word, key = make_source(t)
            span = span_of(t, name, close)
            names = (name_at(t, name),)
            return relation, syntax.TableFunction(names, word, key, make_all(makes, t), span)

        return Piece(make, name, close, (source, *arguments))

    def table_of(self, name: int, _open: int, inner: Piece, close: int) -> Piece:
        make_inner = inner.make

        def make(t: Tokens) -> tuple[syntax.Name, syntax.TableFunction]:
            relation, function = make_inner(t)
            words, span = (name_at(t, name), *function.words), span_of(t, name, close)
            return relation, replace(function, words=words, span=span)

        return Piece(make, name, close, (inner,))

    def windowed_item(self, windowed: Piece, alias: Piece | None) -> Piece:
        first, last = windowed.first, (alias or windowed).last
        make_windowed, make_alias = windowed.make, maker_of(alias)

        def make(t: Tokens) -> syntax.FromItem:
            relation, function = make_windowed(t)
            named, span = make_optional(make_alias, t), span_of(t, first, last)
            return syntax.FromItem(relation, named, None, None, span, function=function)

        return Piece(make, first, last, (windowed,))

    def names(self, *parts: int) -> Piece:
        listed = parts[::2]
        return Piece(
            lambda t: tuple(name_at(t, at) for at in listed),
            token_of(parts[0]),
            token_of(parts[-1]),
        )

    def unnested_item(
        self,
        word: int,
        _open: int,
        operand: Piece,
        close: int,
        _with: int | None,
        ordinality: int | None,
        alias: Piece | None,
        _names_open: int | None,
        names: Piece | None,
        names_close: int | None,
    ) -> Piece:
        ends = (close, ordinality, None if alias is None else alias.last, names_close)
        last = max(end for end in ends if end is not None)
        make_operand, make_alias, make_names = operand.make, maker_of(alias), maker_of(names)

        def make(t: Tokens) -> syntax.FromItem:
            named = make_optional(make_alias, t)
            columns = () if make_names is None else make_names(t)
            unnest = syntax.Unnest(make_operand(t), ordinality is not None, columns)
            span = span_of(t, word, last)
            return syntax.FromItem(name_at(t, word), named, None, None, span, unnest=unnest)

        return Piece(make, word, last, (operand,))

    def sub_query(
        self, opening: int, query: Piece, close: int, alias: Piece | None, extent: Piece | None
    ) -> Piece:
        last = max([close, *(part.last for part in pieces_of((alias, extent)))])
        make_query, make_alias, make_extent = query.make, maker_of(alias), maker_of(extent)

        def make(t: Tokens) -> syntax.FromItem:
            length, count = (None, None) if make_extent is None else make_extent(t)
            span = span_of(t, opening, last)
            nameless = syntax.Name("", span_of(t, opening, close))
            named = nameless if make_alias is None else make_alias(t)
            return syntax.FromItem(named, None, length, count, span, make_query(t))

        return SelectPiece(make, opening, last, [query], _repeated([query]))

    def sub_query_extent_first(
        self, opening: int, query: Piece, close: int, extent: Piece, alias: Piece
    ) -> Piece:
        return self.sub_query(opening, query, close, alias, extent)

    def listed_item(self, comma: int, item: Piece) -> Joined:
        return item, None, comma

    def joined_item(self, _kind: int | None, join: int, item: Piece) -> Joined:
        return item, None, join

    def joined_item_on(
        self, _kind: int | None, join: int, item: Piece, _on: int, condition: Piece
    ) -> Joined:
        return item, condition, join

    def outer_item_on(
        self,
        kind: int,
        _outer: int | None,
        _join: int,
        item: Piece,
        _on: int,
        condition: Piece,
    ) -> Joined:
        return item, condition, kind

    def from_clause(self, _from: int, item: Piece, *joined: Joined) -> tuple[Piece, Piece]:
        items = [item, *(each for each, _, _ in joined)]
        return List(items), _joins(joined)

    # The clauses after FROM

    def where(self, word: int, condition: Piece) -> Clause:
        return Clause("WHERE", word, condition)

    def window(self, word: int, condition: Piece) -> Clause:
        return Clause("WINDOW", word, condition)

    def max_window(self, word: int, duration: Piece) -> Clause:
        return Clause("MAXWINDOW", word, duration)

    def unbounded_window(self, word: int, unbounded: int) -> Clause:
        return Clause("MAXWINDOW", word, Piece(lambda t: UNBOUNDED, unbounded, unbounded))

    def every(self, word: int, duration: Piece) -> Clause:
        return Clause("EVERY", word, duration)

    def having(self, word: int, condition: Piece) -> Clause:
        return Clause("HAVING", word, condition)

    def qualify(self, word: int, condition: Piece) -> Clause:
        return Clause("QUALIFY", word, condition)

    def limit(self, word: int, number: int) -> Clause:
        return Clause("LIMIT", word, self.number(number))

    def per(self, word: int, *parts: Part) -> Clause:
        return Clause("PER", word, List(pieces_of(parts)))

    def hold(self, word: int, duration: Piece) -> Clause:
        return Clause("FOR", word, duration)

    def clear_when(self, word: int, _when: int, condition: Piece) -> Clause:
        return Clause("CLEAR WHEN", word, condition)

    def keep_firing(self, word: int, _firing: int, duration: Piece) -> Clause:
        return Clause("KEEP FIRING", word, duration)

    def once_every(self, word: int, _every: int, duration: Piece) -> Clause:
        return Clause("ONCE EVERY", word, duration)

    def no_data(self, word: int, _data: int, _after: int, duration: Piece) -> Clause:
        return Clause("NO DATA AFTER", word, duration)

    def severity(self, word: int, text: int) -> Piece:
        made = self.string(text).make
        return Piece(made, word, text)

    def group_by(self, word: int, _by: int, *parts: Part) -> Clause:
        return Clause("GROUP BY", word, List(pieces_of(parts)))

    def grouping_set(self, *parts: Part) -> Piece:
        pieces = pieces_of(parts)
        ends = [part for part in parts if isinstance(part, int)]
        makes = [piece.make for piece in pieces]
        first, last = pieces[0].first, pieces[-1].last
        if ends:
            first, last = ends[0], ends[-1]
        return Piece(lambda t: _set_of(make_all(makes, t)), first, last, pieces)

    def empty_set(self, opening: int, close: int) -> Piece:
        return Piece(lambda t: (), opening, close)

    def grouping_sets(self, word: int, _sets: int, _open: int, *rest: Part) -> Piece:
        sets, close = pieces_of(rest), token_of(rest[-1])
        makes = [each.make for each in sets]

        def make(t: Tokens) -> syntax.GroupingSets:
            return syntax.GroupingSets(make_all(makes, t), span_of(t, word, close))

        return Piece(make, word, close, sets)

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
        repeated += _repeated(items.inner if isinstance(items, List) else [])
        lists = (outputs.make, items.make, conditions.make)
        alert = _alert_maker(given, [clause for clause in clauses if clause.keyword in _ALERT])
        make = _select_maker(distinct is not None, lists, given, (word, last), alert)
        return SelectPiece(make, word, last, inner, repeated)

    def with_entry(
        self, name: int, _as: int, _open: int, query: SelectPiece, close: int
    ) -> SelectPiece:
        make_query = query.make

        def make(t: Tokens) -> syntax.WithEntry:
            return syntax.WithEntry(name_at(t, name), make_query(t), span_of(t, name, close))

        return SelectPiece(make, name, close, [query], query.repeated)

    def with_clause(self, word: int, *parts: Part) -> Piece:
        entries = pieces_of(parts)
        made = List(entries)
        return SelectPiece(made.make, word, made.last, entries, _repeated(entries))

    def union_branch(self, _union: int, _all: int, select: SelectPiece) -> SelectPiece:
        return select

    def query(
        self, entries: Piece | None, select: SelectPiece, *branches: SelectPiece
    ) -> SelectPiece:
        if entries is None and not branches:
            return select
        make_first, make_entries = select.make, maker_of(entries)
        make_branches = [branch.make for branch in branches]
        inner = [*pieces_of((entries,)), select, *branches]
        first, last = inner[0].first, inner[-1].last

        def make(t: Tokens) -> syntax.Select:
            made: syntax.Select = make_first(t)
            return replace(
                made,
                entries=() if make_entries is None else make_entries(t),
                union=make_all(make_branches, t),
                span=span_of(t, first, last),
            )

        return SelectPiece(make, first, last, inner, _repeated(inner))


def _select_maker(
    distinct: bool,
    lists: tuple[Make, Make, Make],
    given: dict[str, Make],
    ends: tuple[int, int],
    make_alert: Make | None = None,
) -> Make:
    """How to make a Select from its lists (outputs, FROM items, ON conditions) and its clauses by keyword."""
    make_outputs, make_items, make_conditions = lists
    first, last = ends
    keywords = ("WHERE", "WINDOW", "MAXWINDOW", "EVERY", "HAVING", "LIMIT", "QUALIFY")
    where, window, max_window, every, having, limit, qualify = (
        given.get(word) for word in keywords
    )
    begin_end, group_by, order_by = (given.get(word) for word in ("BEGIN", "GROUP BY", "ORDER BY"))

    def make(t: Tokens) -> syntax.Select:
        begin, end = (None, None) if begin_end is None else begin_end(t)
        conditions, joins = make_conditions(t)
        length = make_optional(max_window, t)
        is_unbounded = length is UNBOUNDED
        return syntax.Select(
            distinct,
            make_outputs(t),
            make_items(t),
            conditions,
            make_optional(where, t),
            make_optional(window, t),
            None if is_unbounded else length,
            begin,
            end,
            make_optional(every, t),
            () if group_by is None else group_by(t),
            make_optional(having, t),
            () if order_by is None else order_by(t),
            make_optional(limit, t),
            span_of(t, first, last),
            qualify=make_optional(qualify, t),
            joins=joins,
            unbounded=is_unbounded,
            alert=make_optional(make_alert, t),
        )

    return make


_ALERT = ("PER", "FOR", "CLEAR WHEN", "KEEP FIRING", "ONCE EVERY", "NO DATA AFTER")


def _alert_maker(given: dict[str, Make], clauses: Sequence[Clause]) -> Make | None:
    """How to make the clauses of CREATE ALERT; None where there is none of them."""
    if not clauses:
        return None
    per, hold, clear, keep, once, no_data = (given.get(word) for word in _ALERT)
    begins = clauses[0]

    def make(t: Tokens) -> syntax.AlertClauses:
        return syntax.AlertClauses(
            () if per is None else per(t),
            make_optional(hold, t),
            make_optional(clear, t),
            make_optional(keep, t),
            make_optional(once, t),
            make_optional(no_data, t),
            begins.keyword,
            span_of(t, begins.first, begins.last),
        )

    return make


_OUTER_KINDS = frozenset({"LEFT", "RIGHT", "FULL"})


def _joins(joined: Sequence[Joined]) -> Piece:
    """The ON conditions, or with an outer join among them how each item comes to those before it."""
    conditions = [on for _, on, _ in joined if on is not None]
    makes = [None if on is None else on.make for _, on, _ in joined]
    words = [word for _, _, word in joined]

    def make(t: Tokens) -> tuple[tuple[syntax.Expression, ...], tuple[syntax.Join, ...]]:
        kinds = [t.kinds[word] for word in words]
        if _OUTER_KINDS.isdisjoint(kinds):
            return tuple([each(t) for each in makes if each is not None]), ()
        return (), tuple(
            [
                syntax.Join("INNER" if kind == "JOIN" else kind, make_optional(each, t))
                for kind, each in zip(kinds, makes, strict=True)
            ]
        )

    first, last = (conditions[0].first, conditions[-1].last) if conditions else (0, 0)
    return Piece(make, first, last, conditions)


def _repeated(pieces: Sequence[Piece]) -> list[Clause]:
    """The clauses that queries among these have once too often."""
    return [each for piece in pieces if isinstance(piece, SelectPiece) for each in piece.repeated]


def _set_of(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """The keys of a grouping set; `(a)` is a alone."""
    if len(keys) == 1 and isinstance(keys[0], syntax.Parenthesised):
        return (keys[0].inner,)
    return keys
