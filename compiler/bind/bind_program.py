"""Binding: names resolved, types known, clauses checked, every mistake reported.

`bind_program` takes the syntax trees of all files of a program; declarations are visible in the whole of it, before
and after. `bind_query` binds one more query against what is already declared, for a running engine.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.declarations import Declarations
from cqc.compiler.bind.scope import Environment
from cqc.compiler.bind.select import bind_select
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.meaning.catalog import Catalog, fold
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import SourceFile, Span
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Query


@dataclass(frozen=True, slots=True)
class Bound:
    """A program after binding. Queries with errors are left out; `diagnostics` says why.

    `unselected` are those of them in which only the SELECT list is wrong, without it: whether a join is bounded can be said.
    """

    catalog: Catalog
    queries: tuple[Query, ...]
    diagnostics: tuple[Diagnostic, ...]
    unselected: tuple[Query, ...] = ()


def bind_program(
    programs: Sequence[tuple[syntax.Program, SourceFile, str]],
    functions: Mapping[str, UserFunction],
) -> Bound:
    """Bind the files of a program.

    Args:
        programs: For each file its syntax tree, its source and the folder that relative paths are relative to.
        functions: User functions by folded name.
    """
    declarations = Declarations()
    queries: list[syntax.CreateQuery] = []
    for program, _, folder in programs:
        for statement in program.statements:
            match statement:
                case syntax.CreateRelation():
                    declarations.create(statement, folder)
                case syntax.SetOption():
                    declarations.set(statement)
                case syntax.CreateQuery():
                    queries.append(statement)
    diagnostics = declarations.diagnostics
    catalog = Catalog(declarations.relations, declarations.settings)
    lost = frozenset(fold(name) for program, _, _ in programs for name in program.broken)
    names = list(_names(queries, diagnostics))
    claimed = frozenset(map(fold, names))
    environment = Environment(catalog.relations, functions, declarations.broken, lost, claimed)
    bound: list[Query] = []
    unselected: list[Query] = []
    for name, node in zip(names, queries, strict=True):
        query, found = bind_select(environment, node.select, name)
        diagnostics.extend(found)
        if query is not None:
            bound.append(query)
        elif _is_wrong_in_outputs_only(node.select, found):
            rest, _ = bind_select(environment, _without_outputs(node.select), name)
            unselected += [rest] if rest is not None else []
    return Bound(catalog, tuple(bound), tuple(diagnostics), tuple(unselected))


def _is_wrong_in_outputs_only(node: syntax.Select, found: Sequence[Diagnostic]) -> bool:
    """Whether all mistakes are in the SELECT list, and none is mended by BEGIN-END, which bounds joins too."""
    start, end = node.outputs[0].span.start, node.outputs[-1].span.end
    return all(
        start <= each.span.start and each.span.end <= end and each.code != "CQ060" for each in found
    )


def _without_outputs(node: syntax.Select) -> syntax.Select:
    """The query with nothing but TRUE in its SELECT list."""
    span = node.outputs[0].span
    return replace(
        node, outputs=(syntax.SelectItem(syntax.BooleanLiteral(True, span), None, span),)
    )


def bind_query(
    node: syntax.Select,
    catalog: Catalog,
    name: str,
    functions: Mapping[str, UserFunction],
    queries: Container[str] = (),
) -> tuple[Query | None, list[Diagnostic]]:
    """Bind one query against a catalog; the query is None when it has errors. Warnings come with it.

    `queries` are the folded names of the others, which it cannot read.
    """
    environment = Environment(catalog.relations, functions, {}, queries=queries)
    return bind_select(environment, node, name)


def _names(queries: list[syntax.CreateQuery], diagnostics: list[Diagnostic]) -> Iterator[str]:
    """The name of each query; bare ones take q1, q2, ... past the names that others claim."""
    claimed: dict[str, Span] = {}
    for node in queries:
        if node.name is None:
            continue
        first = claimed.setdefault(fold(node.name.text), node.name.span)
        if first is not node.name.span:
            hint = "Give it a name of its own."
            detail = f"The first one is at {first.place}."
            again = make("CQ029", node.name.span, name=node.name.text, detail=detail, hint=hint)
            diagnostics.append(again)
    number = 0
    for node in queries:
        if node.name is not None:
            yield node.name.text
            continue
        number += 1
        while f"q{number}" in claimed:
            number += 1
        yield f"q{number}"
