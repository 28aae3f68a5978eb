"""WITH of a declaration: the options as text, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.source_formats import CONNECTIONS, FORMATS, WITHOUT_FORMAT, format_called
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.source_formats import SourceFormat


def bind_options(scope: Scope, node: syntax.CreateRelation) -> dict[str, str]:
    """The options by their folded names; what nobody would read, or could not, is reported."""
    options: dict[str, str] = {}
    for option in node.options:
        key = fold(option.key.text)
        if key in options:
            scope.report("CQ026", option.key.span, key=option.key.text)
        else:
            options[key] = _text(option.value)
    named = options.get("format")
    format_ = WITHOUT_FORMAT if named is None else format_called(named)
    if format_ is None:
        _report_format(scope, node)
    else:
        _check_keys(scope, node, format_, named)
    if not node.is_stream and named is not None and named.lower() in CONNECTIONS:
        _report_table(scope, node)
    return options


def _check_keys(
    scope: Scope, node: syntax.CreateRelation, format_: SourceFormat, named: str | None
) -> None:
    for option in node.options:
        key = fold(option.key.text)
        if not format_.has(key):
            scope.report(
                "CQ069",
                option.key.span,
                what="WITH" if named is None else f"format '{named}'",
                key=option.key.text,
                detail=f"It has {', '.join(format_.keys)}.",
                hint=did_you_mean(key, format_.keys) or _format_hint(key),
            )
            continue
        takes = format_.options.get(key)
        text = _text(option.value)
        if takes is not None and not takes.takes(text):
            scope.report(
                "CQ071", option.value.span, key=option.key.text, expected=takes.expected, text=text
            )


def _format_hint(key: str) -> str | None:
    """Which format a key belongs to."""
    found = next((name for name, format_ in FORMATS.items() if format_.has(key)), None)
    return None if found is None else f"Add `format = '{found}'`."


def _report_format(scope: Scope, node: syntax.CreateRelation) -> None:
    option = next(option for option in node.options if fold(option.key.text) == "format")
    text = _text(option.value)
    scope.report(
        "CQ070",
        option.value.span,
        name=text,
        detail=f"There are {', '.join(FORMATS)}.",
        hint=did_you_mean(text, FORMATS),
    )


def _report_table(scope: Scope, node: syntax.CreateRelation) -> None:
    option = next(option for option in node.options if fold(option.key.text) == "format")
    scope.report(
        "CQ072",
        option.value.span,
        format=_text(option.value).lower(),
        table=node.name.text,
        detail="A table is read once, from files, before the first row of a stream.",
        hint=f"Declare it `CREATE STREAM {node.name.text}`, or give it a path.",
    )


def _text(value: syntax.StringLiteral | syntax.NumberLiteral | syntax.BooleanLiteral) -> str:
    match value:
        case syntax.StringLiteral(value=text) | syntax.NumberLiteral(text=text):
            return text
        case syntax.BooleanLiteral(value=truth):
            return "true" if truth else "false"
