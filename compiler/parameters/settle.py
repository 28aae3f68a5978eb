"""Statements whose parameters have got values: constants in the syntax tree, and a text that says the same without parameters.

The tree keeps the places of what the user wrote, so mistakes are shown there. The text is what a query is known by from then on: a
checkpoint or a service reads it again without knowing any parameter. An output that is named by its source text keeps that name.

    SELECT room, t - :most FROM s WHERE t > :most      with most = 26 is known as
    SELECT room, t - 26.0 AS "t - :most" FROM s WHERE t > 26.0
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.parameters.values import as_syntax, as_written
from cqc.compiler.syntax import tree as syntax
from cqc.compiler.syntax.source_names import source_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Literal

Node = TypeVar("Node")


class Settling:
    """One statement on its way: values by folded name, the edits of its text, and what was found wrong."""

    def __init__(self, values: Mapping[str, Literal]) -> None:
        self._values = values
        self._edits: list[tuple[int, int, str]] = []  # start, end, what stands there instead
        self.diagnostics: list[Diagnostic] = []
        self.used: set[str] = set()

    def settle(self, node: Node) -> Node:
        """The tree with constants in the places of parameters."""
        made: Node = self._node(node)
        return made

    def text(self, span: Span) -> Span:
        """A part of the statement's text with the constants written out, as a text of its own."""
        text, shift = span.text, span.start
        for start, end, put in sorted(self._edits, reverse=True):
            if span.start <= start and end <= span.end:
                text = text[: start - shift] + put + text[end - shift :]
        return Span(SourceFile(span.source.name, text), 0, len(text))

    def _node(self, node: Any) -> Any:
        if isinstance(node, syntax.Parameter):
            return self._constant(node)
        if isinstance(node, tuple):
            made = tuple(map(self._node, node))
            return node if all(a is b for a, b in zip(made, node, strict=True)) else made
        if isinstance(node, Span) or not is_dataclass(node) or isinstance(node, type):
            return node
        changed = {}
        for part in fields(node):
            old = getattr(node, part.name)
            new = self._node(old)
            if new is not old:
                changed[part.name] = new
        if not changed:
            return node
        if isinstance(node, syntax.SelectItem) and node.name is None:
            changed["name"] = self._named(node)
        return replace(node, **changed)

    def _named(self, item: syntax.SelectItem) -> syntax.Name | None:
        """The name that an output has by its source text."""
        span = item.expression.span
        text = source_name(span.text)
        self._edits.append((span.end, span.end, f' AS "{text.replace(chr(34), chr(34) * 2)}"'))
        return syntax.Name(text, span, True)

    def _constant(self, node: syntax.Parameter) -> Any:
        name = fold(node.name)
        value = self._values.get(name)
        if value is None:
            self.diagnostics.append(_unknown(node, self._values))
            return syntax.NullLiteral(node.span)
        self.used.add(name)
        self._edits.append((node.span.start, node.span.end, as_written(value)))
        return as_syntax(value, node.span)


def _unknown(node: syntax.Parameter, values: Mapping[str, Literal]) -> Diagnostic:
    hint = did_you_mean(node.name, [*values])
    if hint is None:
        hint = f"Declare it: `SET :{node.name} = 0;`, or `CREATE QUERY name ({node.name} DOUBLE = 0) AS ...`."
    known = ", ".join(f":{each}" for each in values)
    detail = f"There are {known}." if known else None
    return make("CQ163", node.span, name=node.name, detail=detail, hint=hint)


# Texts, names in quotes and comments are passed over, so that a colon is one of the statement's own.
_PASSED_OR_COLON = re.compile(
    r"""'[^']*'|"[^"]*"|`[^`]*`|--[^\n]*|/\*.*?\*/|(:)""",
    re.DOTALL,
)


def has_parameters(span: Span) -> bool:
    """Whether a statement may have parameters: quick, and never wrong where it says no."""
    text = span.text
    return ":" in text and any(each.group(1) for each in _PASSED_OR_COLON.finditer(text))
