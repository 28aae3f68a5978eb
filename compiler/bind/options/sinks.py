"""CREATE SINK, and INTO and WITH of a query: where results are sent, and what is wrong with that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.options.options import option_text
from cqc.compiler.diagnostics.suggest import did_you_mean, listed
from cqc.compiler.meaning.bound import Destinations
from cqc.compiler.meaning.catalog import SinkDeclaration, fold
from cqc.compiler.meaning.secrets import Secret
from cqc.compiler.meaning.sink_types import SINK_TYPES, USER_TYPES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from cqc.compiler.bind.scope import Scope
    from cqc.compiler.meaning.sink_types import SinkType
    from cqc.compiler.syntax import tree as syntax


def bind_sink(scope: Scope, node: syntax.CreateSink, folder: str) -> SinkDeclaration | None:
    """The sink that a statement declares; None after saying what is wrong."""
    found = len(scope.diagnostics)
    options: dict[str, str] = {}
    for option in node.options:
        key = fold(option.key.text)
        if key in options:
            scope.report("CQ026", option.key.span, key=option.key.text)
        options.setdefault(key, option_text(option.value))
    name, kind = node.name.text, options.get("type", "").lower()
    if "type" not in options:
        hint = f"Add `type = 'webhook'`; there are {', '.join(SINK_TYPES)}."
        scope.report("CQ110", node.name.span, name=name, key="type", hint=hint)
    elif kind in SINK_TYPES:
        _check_options(scope, node, SINK_TYPES[kind], options)
    elif kind not in USER_TYPES:
        option = next(option for option in node.options if fold(option.key.text) == "type")
        scope.report(
            "CQ111",
            option.value.span,
            name=kind,
            detail=f"There are {', '.join((*SINK_TYPES, *sorted(USER_TYPES)))}.",
            hint=did_you_mean(kind, (*SINK_TYPES, *sorted(USER_TYPES))),
        )
    if len(scope.diagnostics) > found:
        return None
    return SinkDeclaration(name, kind, options, folder, node.name.span)


def _check_options(
    scope: Scope, node: syntax.CreateSink, type_: SinkType, options: Mapping[str, str]
) -> None:
    kind = options["type"].lower()
    for option in node.options:
        key = fold(option.key.text)
        if not type_.has(key):
            scope.report(
                "CQ069",
                option.key.span,
                what=f"a sink of type '{kind}'",
                key=option.key.text,
                detail=f"It has {', '.join(type_.keys)}.",
                hint=did_you_mean(key, type_.keys),
            )
            continue
        rule, text = type_.rule(key), options[key]
        if rule is not None and not isinstance(text, Secret) and not rule.takes(text):
            scope.report(
                "CQ071", option.value.span, key=option.key.text, expected=rule.expected, text=text
            )
    missing = [key for key in type_.required if key not in options]
    if type_.one_of and not any(key in options for key in type_.one_of):
        missing.append(type_.one_of[0])
    for key in missing:
        rule = type_.rule(key)
        what = "a text" if rule is None else rule.expected
        hint = f"Add `{key} = '...'`, {what}."
        scope.report("CQ110", node.name.span, name=node.name.text, key=key, hint=hint)


def bind_destinations(
    scope: Scope,
    node: syntax.CreateQuery,
    sinks: Mapping[str, SinkDeclaration],
    broken: Collection[str] = (),
) -> Destinations | None:
    """Where the results of a query go; None where the command says so. `broken` are sinks with mistakes of their own."""
    into: list[str] = []
    for name in node.into:
        key = fold(name.text)
        if key in sinks:
            if sinks[key].name in into:
                scope.report("CQ113", name.span, name=name.text)
            into.append(sinks[key].name)
        elif key not in broken:
            names = [sink.name for sink in sinks.values()]
            scope.report(
                "CQ112",
                name.span,
                name=name.text,
                detail=f"Sinks: {listed(names)}." if names else "The program declares no sink.",
                hint=did_you_mean(name.text, names)
                or f"Declare it: `CREATE SINK {name.text} WITH (type = 'webhook', url = '...')`.",
            )
    texts: dict[str, str] = {}
    for option in (
        () if node.is_alert else node.options
    ):  # an alert tells its texts with each result
        if fold(option.key.text) in map(fold, texts):
            scope.report("CQ026", option.key.span, key=option.key.text)
        texts[option.key.text] = option_text(option.value)
    if not into and not texts:
        return None
    return Destinations(tuple(into), tuple(texts.items()))
