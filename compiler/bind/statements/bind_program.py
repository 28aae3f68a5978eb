"""Binding: names resolved, types known, clauses checked, every mistake reported.

`bind_program` takes the syntax trees of all files of a program; declarations are visible in the whole of it, before
and after. `bind_query` binds one more query against what is already declared, for a running engine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.options.sinks import bind_destinations
from cqc.compiler.bind.scope import Environment, Scope
from cqc.compiler.bind.statements.declarations import Declarations
from cqc.compiler.bind.statements.views import bind_select, bind_view
from cqc.compiler.bind.sub_queries import split_questions
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.catalog import Catalog, fold
from cqc.compiler.parameters.declared import (
    declared_values,
    filled,
    instance,
    program_values,
    settled,
    settled_view,
    template_name,
    typed_nulls,
)
from cqc.compiler.parameters.given import given_values
from cqc.compiler.syntax import tree as syntax

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterator, Mapping, Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.diagnostics.source import SourceFile, Span
    from cqc.compiler.functions.registered import UserFunction
    from cqc.compiler.meaning.bound import Literal, Query
    from cqc.compiler.meaning.catalog import Relation


@record
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
    queries: list[syntax.CreateQuery | syntax.CreateInstance] = []
    parameters: list[syntax.SetParameter] = []
    views: list[syntax.CreateView] = []
    for program, _, folder in programs:
        for statement in program.statements:
            match statement:
                case syntax.CreateRelation():
                    declarations.create(statement, folder)
                case syntax.SetOption():
                    declarations.set(statement)
                case syntax.CreateSink():
                    declarations.create_sink(statement, folder)
                case syntax.CreateQuery() | syntax.CreateInstance():
                    queries.append(statement)
                case syntax.SetParameter():
                    parameters.append(statement)
                case syntax.CreateView():
                    if declarations.claim(statement.name):
                        views.append(statement)
                case syntax.Drop() | syntax.Show() | syntax.Describe():
                    declarations.diagnostics.append(not_in_a_program(statement))
    diagnostics = declarations.diagnostics
    values = program_values(parameters, given_values(), diagnostics)
    views = [settled_view(view, values, diagnostics) for view in views]
    templates = {
        fold(template_name(node)): node
        for node in queries
        if isinstance(node, syntax.CreateQuery) and node.parameters
    }
    lost = frozenset(fold(name) for program, _, _ in programs for name in program.broken)
    names = list(_names(queries, diagnostics))
    claimed = frozenset(map(fold, names))
    idle_us = declarations.settings.key_idle_us
    environment = Environment(
        declarations.relations, functions, declarations.broken, lost, claimed, idle_us
    )
    environment, made, found = bind_views(environment, views)
    diagnostics += found
    catalog = Catalog(
        declarations.relations, declarations.settings, made, declarations.sinks, values, templates
    )
    bound: list[Query] = []
    unselected: list[Query] = []
    for name, statement in zip(names, queries, strict=True):
        wrong: list[Diagnostic] = []
        ready = ready_query(statement, catalog, wrong)
        diagnostics.extend(wrong)
        if ready is None:
            continue
        node, text = ready
        query, found = bind_select(environment, node.select, name, alert=_alert(node))
        if node.parameters:  # it is checked, and not delivered
            diagnostics.extend(each for each in found if each.severity is Severity.ERROR)
            continue
        query = query if query is None or text is None else replace(query, span=text)
        query = _addressed(environment, query, node, catalog, found, declarations.broken_sinks)
        diagnostics.extend(found)
        if wrong:
            continue
        if query is not None:
            bound.append(query)
        elif not node.is_alert and _is_wrong_in_outputs_only(node.select, found):
            rest, _ = bind_select(environment, _without_outputs(node.select), name)
            unselected += [rest] if rest is not None else []
    return Bound(catalog, tuple(bound), tuple(diagnostics), tuple(unselected))


def ready_query(
    statement: syntax.CreateQuery | syntax.CreateInstance,
    catalog: Catalog,
    found: list[Diagnostic],
    given: Mapping[str, Literal] | None = None,
) -> tuple[syntax.CreateQuery, Span | None] | None:
    """A query with its parameters as constants, and the text that its SELECT then has; None after saying what is wrong.

    One with parameters of its own keeps them, with NULL for those that have no value, unless values are `given`.
    """
    shared = catalog.parameters
    if isinstance(statement, syntax.CreateInstance):
        made = instance(statement, catalog.templates, found)
        if made is None:
            return None
        template, own = made
        return settled(replace(template, parameters=()), {**shared, **own}, found, is_template=True)
    if statement.parameters and given is None:
        values = declared_values(statement, {}, found)
        checked, _ = settled(statement, {**shared, **typed_nulls(statement, values)}, found)
        return replace(checked, parameters=statement.parameters), None
    if statement.parameters:
        values = filled(statement, given or {}, statement.span, found)
        return settled(
            replace(statement, parameters=()), {**shared, **values}, found, is_template=True
        )
    return settled(statement, {**shared, **(given or {})}, found)


def not_in_a_program(statement: syntax.Command) -> Diagnostic:
    """What DROP, SHOW and DESCRIBE say in a program that is compiled."""
    words = " ".join(statement.span.text.split()[:-1]).upper()
    if isinstance(statement, syntax.Show):
        words = f"SHOW {statement.what}"
    detail = "A program declares what there is; nothing runs yet that could be shown or dropped."
    hint = "Send it to `cqc serve`, or use `engine.execute(...)`."
    return make("CQ107", statement.span, statement=words, detail=detail, hint=hint)


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


def _alert(node: syntax.CreateQuery) -> syntax.CreateQuery | None:
    return node if node.is_alert else None


def _addressed(
    environment: Environment,
    query: Query | None,
    node: syntax.CreateQuery,
    catalog: Catalog,
    found: list[Diagnostic],
    broken: Collection[str] = (),
) -> Query | None:
    """The query with where its results go; None after saying what is wrong with that."""
    if not node.into and not node.options and not node.is_alert:
        return query
    scope = Scope(environment)
    destinations = bind_destinations(scope, node, catalog.sinks, broken)
    found.extend(scope.diagnostics)
    if query is None or scope.diagnostics:
        return None
    # The whole statement is its text from now on: who registers it again must know where it goes.
    return replace(query, destinations=destinations, span=node.span)


def bind_query(
    node: syntax.CreateQuery,
    catalog: Catalog,
    name: str,
    functions: Mapping[str, UserFunction],
    queries: Container[str] = (),
) -> tuple[Query | None, list[Diagnostic]]:
    """Bind one query against a catalog; the query is None when it has errors. Warnings come with it.

    `queries` are the folded names of the others, which it cannot read.
    """
    idle_us = catalog.settings.key_idle_us
    environment = Environment(catalog.readable, functions, {}, queries=queries, key_idle_us=idle_us)
    query, found = bind_select(environment, node.select, name, alert=_alert(node))
    return _addressed(environment, query, node, catalog, found), found


def _names(
    queries: Sequence[syntax.CreateQuery | syntax.CreateInstance], diagnostics: list[Diagnostic]
) -> Iterator[str]:
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


# Views may be declared after their use, so they are bound in the order of what reads what.


def bind_views(
    environment: Environment, nodes: Sequence[syntax.CreateView]
) -> tuple[Environment, dict[str, Relation], list[Diagnostic]]:
    """The environment with the views of a program in it, the views by folded name, and what is wrong with them."""
    if not nodes:
        return environment, {}, []
    by_name = {fold(node.name.text): node for node in reversed(nodes)}
    found: list[Diagnostic] = []
    known: dict[str, Relation | None] = {}
    for name in _in_order(by_name, found):
        node = by_name[name]
        visible = environment.within(known)
        relation, problems = bind_view(visible, node.name, node.select, node)
        known[name] = relation
        found += problems
    known |= {name: None for name in by_name if name not in known}  # in a cycle
    views = {name: known[name] for name in by_name}
    declared = {name: each for name, each in reversed(views.items()) if each is not None}
    return environment.within(known), declared, found


def _in_order(by_name: dict[str, syntax.CreateView], found: list[Diagnostic]) -> Iterator[str]:
    """The views, each after those that it reads; those of a cycle are reported and left out."""
    done: set[str] = set()
    on_the_way: list[str] = []

    def visit(name: str) -> Iterator[str]:
        if name in done:
            return
        if name in on_the_way:
            members = on_the_way[on_the_way.index(name) :]
            found.append(_cycle([by_name[each] for each in members]))
            done.update(members)
            return
        on_the_way.append(name)
        for read in names_read(by_name[name].select):
            if read in by_name:
                yield from visit(read)
        on_the_way.pop()
        if name not in done:
            done.add(name)
            yield name

    for name in reversed(by_name):
        yield from visit(name)


def names_read(node: syntax.Select, hidden: frozenset[str] = frozenset()) -> set[str]:
    """The folded names that FROM has anywhere in a query, also inside EXISTS, but for those that its WITH clauses give."""
    found: set[str] = set()
    for entry in node.entries:
        found |= names_read(entry.query, hidden)
        hidden |= {fold(entry.name.text)}
    for branch in (node, *node.union):
        for item in branch.items:
            if item.query is not None:
                found |= names_read(item.query, hidden)
            elif fold(item.relation.text) not in hidden:
                found.add(fold(item.relation.text))
        for question in split_questions(branch.where)[1]:
            found |= names_read(question.node.select, hidden)
    return found


def _cycle(members: Sequence[syntax.CreateView]) -> Diagnostic:
    names = [node.name.text for node in members]
    if len(names) == 1:
        detail = f"{names[0]} is in its own FROM."
        return make("CQ101", members[0].name.span, members=names[0], detail=detail)
    chain = " reads ".join([*names, names[0]])
    return make(
        "CQ101",
        members[0].name.span,
        members=f"{', '.join(names[:-1])} and {names[-1]}",
        detail=f"{chain}.",
        hint="Let one of them read a stream instead.",
        more=tuple(node.name.span for node in members[1:]),
    )
