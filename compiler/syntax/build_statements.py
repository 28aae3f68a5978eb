"""The rules of statements, as makers of syntax nodes (see `pieces`); those of queries are in `build_queries`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.build_queries import QueryPieces
from cqc.compiler.syntax.pieces import (
    List,
    Part,
    Piece,
    SelectPiece,
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


class StatementPieces(QueryPieces):
    """All rules of the grammar."""

    def create_view(
        self, word: int, _view: int, name: int, _as: int, select: SelectPiece
    ) -> SelectPiece:
        return _create_view(word, name, select, replaces=False)

    def replace_view(
        self,
        word: int,
        _or: int,
        _replace: int,
        _view: int,
        name: int,
        _as: int,
        query: SelectPiece,
    ) -> SelectPiece:
        return _create_view(word, name, query, replaces=True)

    def drop(self, word: int, what: int, name: int) -> Piece:
        def make(t: Tokens) -> syntax.Drop:
            return syntax.Drop(t.kinds[what], name_at(t, name), span_of(t, word, name))

        return Piece(make, word, name)

    def show(self, word: int, what: int) -> Piece:
        return Piece(lambda t: syntax.Show(t.kinds[what], span_of(t, word, what)), word, what)

    def describe(self, word: int, name: int) -> Piece:
        def make(t: Tokens) -> syntax.Describe:
            return syntax.Describe(name_at(t, name), span_of(t, word, name))

        return Piece(make, word, name)

    def bare_query(self, select: SelectPiece) -> SelectPiece:
        make_select = select.make

        def make(t: Tokens) -> syntax.CreateQuery:
            made = make_select(t)
            return syntax.CreateQuery(None, made, made.span)

        return SelectPiece(make, select.first, select.last, [select], select.repeated)

    def into(self, word: int, *names: int) -> Piece:
        sinks = names[::2]  # between them are commas

        def make(t: Tokens) -> tuple[syntax.Name, ...]:
            return tuple(name_at(t, name) for name in sinks)

        return Piece(make, word, sinks[-1])

    def named_query(
        self,
        word: int,
        _query: int,
        name: int,
        into: Piece | None,
        options: Piece | None,
        _as: int,
        select: SelectPiece,
    ) -> SelectPiece:
        make_select, last = select.make, select.last
        make_into, make_options = maker_of(into), maker_of(options)

        def make(t: Tokens) -> syntax.CreateQuery:
            return syntax.CreateQuery(
                name_at(t, name),
                make_select(t),
                span_of(t, word, last),
                () if make_into is None else make_into(t),
                () if make_options is None else make_options(t),
            )

        return SelectPiece(make, word, last, [select], select.repeated)

    def parametrised_query(
        self,
        word: int,
        query: int,
        name: int,
        parameters: Piece,
        into: Piece | None,
        options: Piece | None,
        as_: int,
        select: SelectPiece,
    ) -> SelectPiece:
        plain = self.named_query(word, query, name, into, options, as_, select)
        make_query, make_parameters = plain.make, parameters.make

        def make(t: Tokens) -> syntax.CreateQuery:
            query: syntax.CreateQuery = make_query(t)
            return replace(query, parameters=make_parameters(t))

        return SelectPiece(make, word, plain.last, [select], select.repeated)

    def parameters(self, open_: int, *parts: Part) -> Piece:
        makes = [piece.make for piece in pieces_of(parts)]
        return Piece(lambda t: make_all(makes, t), open_, token_of(parts[-1]))

    def parameter_declaration(self, name: int, kind: Piece, *rest: Any) -> Piece:
        default: Piece | None = rest[-1] if rest else None
        make_default = maker_of(default)
        last = kind.last if default is None else default.last

        def make(t: Tokens) -> syntax.ParameterDeclaration:
            return syntax.ParameterDeclaration(
                name_at(t, name),
                kind.make(t),
                None if make_default is None else make_default(t),
                span_of(t, name, last),
            )

        return Piece(make, name, last)

    def query_instance(
        self,
        word: int,
        _query: int,
        name: int,
        into: Piece | None,
        options: Piece | None,
        _as: int,
        template: int,
        _open: int,
        arguments: Piece | None,
        close: int,
    ) -> Piece:
        make_into, make_options = maker_of(into), maker_of(options)
        make_arguments = maker_of(arguments)

        def make(t: Tokens) -> syntax.CreateInstance:
            return syntax.CreateInstance(
                name_at(t, name),
                name_at(t, template),
                () if make_arguments is None else make_arguments(t),
                span_of(t, word, close),
                () if make_into is None else make_into(t),
                () if make_options is None else make_options(t),
            )

        return Piece(make, word, close)

    def arguments(self, *parts: Part) -> Piece:
        return List(pieces_of(parts))

    def named_argument(self, name: int, _arrow: int, value: Piece) -> Piece:
        make_value, last = value.make, value.last

        def make(t: Tokens) -> syntax.Argument:
            return syntax.Argument(name_at(t, name), make_value(t), span_of(t, name, last))

        return Piece(make, name, last)

    def set_parameter(self, word: int, name: int, _equal: int, value: Piece) -> Piece:
        make_value, last = value.make, value.last

        def make(t: Tokens) -> syntax.SetParameter:
            return syntax.SetParameter(t.texts[name][1:], make_value(t), span_of(t, word, last))

        return Piece(make, word, last, (value,))

    def create_alert(
        self,
        word: int,
        _alert: int,
        name: int,
        severity: Piece | None,
        into: Piece | None,
        _as: int,
        select: SelectPiece,
        options: Piece | None,
    ) -> SelectPiece:
        make_select, last = select.make, (options or select).last
        make_into, make_options = maker_of(into), maker_of(options)
        make_severity = maker_of(severity)

        def make(t: Tokens) -> syntax.CreateQuery:
            return syntax.CreateQuery(
                name_at(t, name),
                make_select(t),
                span_of(t, word, last),
                () if make_into is None else make_into(t),
                () if make_options is None else make_options(t),
                True,
                make_optional(make_severity, t),
            )

        return SelectPiece(make, word, last, [select], select.repeated)

    def create_sink(self, word: int, _sink: int, name: int, options: Piece) -> Piece:
        make_options, last = options.make, options.last

        def make(t: Tokens) -> syntax.CreateSink:
            return syntax.CreateSink(name_at(t, name), make_options(t), span_of(t, word, last))

        return Piece(make, word, last)

    def secret(self, place: int, _open: int, text: int, close: int) -> Piece:
        def make(t: Tokens) -> syntax.SecretValue:
            return syntax.SecretValue(name_at(t, place), text_of(t, text), span_of(t, place, close))

        return Piece(make, place, close)

    def column_declaration(self, name: int, kind: Piece, *rest: int | None) -> Piece:
        path = rest[-1] if rest else None  # after FROM
        last = kind.last if path is None else path
        make_type = kind.make

        def make(t: Tokens) -> syntax.ColumnDeclaration:
            declared = make_type(t)
            written = None
            if path is not None:
                written = syntax.StringLiteral(text_of(t, path), span_of(t, path, path))
            span = span_of(t, name, last)
            return syntax.ColumnDeclaration(name_at(t, name), declared, written, span)

        return Piece(make, name, last)

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


def _create_view(word: int, name: int, select: SelectPiece, *, replaces: bool) -> SelectPiece:
    make_select, last = select.make, select.last

    def make(t: Tokens) -> syntax.CreateView:
        span = span_of(t, word, last)
        return syntax.CreateView(name_at(t, name), make_select(t), replaces, span)

    return SelectPiece(make, word, last, [select], select.repeated)


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
