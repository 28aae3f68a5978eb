"""WITH of a declaration: the options as text, and what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.secrets import Secret
from cqc.compiler.meaning.source_formats import (
    ANY,
    CONNECTIONS,
    FORMATS,
    READ_ONCE,
    WITHOUT_FORMAT,
    TimeForm,
    format_called,
)
from cqc.compiler.meaning.times.time_patterns import pieces_of
from cqc.compiler.meaning.user_sources import user_sources
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
            options[key] = option_text(option.value)
    named = options.get("format")
    is_users = named is not None and named.lower() in user_sources()
    format_ = WITHOUT_FORMAT if named is None else ANY if is_users else format_called(named)
    if format_ is None:
        _report_format(scope, node)
    else:
        _check_keys(scope, node, format_, named)
    is_connection = is_users or (named is not None and named.lower() in CONNECTIONS)
    is_table = named is not None and named.lower() in READ_ONCE and "growing" not in options
    if not node.is_stream and is_connection and not is_table:
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
                hint=did_you_mean(key, format_.keys) or _format_hint(key) or _HABITS.get(key),
            )
            continue
        takes = format_.options.get(key)
        if isinstance(option.value, syntax.SecretValue):
            continue
        text = option_text(option.value)
        if takes is not None and not takes.takes(text):
            scope.report(
                "CQ071",
                option.value.span,
                key=option.key.text,
                expected=takes.expected,
                text=text,
                detail=_pattern_detail(text) if isinstance(takes, TimeForm) else None,
            )


_TOPIC = "Write `format = 'kafka', topic = '...', servers = 'host:9092'`."
_VALUE = "Write `format = 'kafka', value = 'json'` (or 'csv')."
# What other systems call these options; with a point in the name they are quoted there.
_HABITS = {
    **dict.fromkeys(
        ("connector", "source", "type"), "Write `format = '...'`: csv, jsonl, parquet, evtx, kafka."
    ),
    **dict.fromkeys(("kafka_topic", "topics"), _TOPIC),
    **dict.fromkeys(("properties.bootstrap.servers", "bootstrap_servers", "brokers"), _TOPIC),
    **dict.fromkeys(("value_format", "value.format", "data_format"), _VALUE),
    **dict.fromkeys(
        ("scan.startup.mode", "offset"), "Write `starting = 'earliest'` (or 'latest')."
    ),
    **dict.fromkeys(
        ("timestamp_column", "rowtime"),
        "Write `WATERMARK FOR column AS column` among the columns.",
    ),
    **dict.fromkeys(("location", "file", "filename", "folder", "url"), "Write `path = '...'`."),
}


def _pattern_detail(text: str) -> str | None:
    """What is wrong with a pattern of times."""
    wrong = pieces_of(text)
    return f"As a pattern: {wrong}." if isinstance(wrong, str) else None


def _format_hint(key: str) -> str | None:
    """Which format a key belongs to."""
    found = next((name for name, format_ in FORMATS.items() if format_.has(key)), None)
    return None if found is None else f"Add `format = '{found}'`."


def _report_format(scope: Scope, node: syntax.CreateRelation) -> None:
    option = next(option for option in node.options if fold(option.key.text) == "format")
    text = option_text(option.value)
    scope.report(
        "CQ070",
        option.value.span,
        name=text,
        detail=f"There are {', '.join((*FORMATS, *user_sources()))}.",
        hint=did_you_mean(text, (*FORMATS, *user_sources())),
    )


def _report_table(scope: Scope, node: syntax.CreateRelation) -> None:
    option = next(option for option in node.options if fold(option.key.text) == "format")
    scope.report(
        "CQ072",
        option.value.span,
        format=option_text(option.value).lower(),
        table=node.name.text,
        detail="A table is read once, from files or PostgreSQL, before the first row of a stream.",
        hint=f"Declare it `CREATE STREAM {node.name.text}`, or give it a path.",
    )


def option_text(value: syntax.OptionValue) -> str:
    """What an option says; of a secret only where it is to be found."""
    match value:
        case syntax.SecretValue(place=place, text=text):
            return Secret(place.text, text)
        case syntax.StringLiteral(value=text) | syntax.NumberLiteral(text=text):
            return text
        case syntax.BooleanLiteral(value=truth):
            return "true" if truth else "false"
