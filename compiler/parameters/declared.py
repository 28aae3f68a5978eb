"""Parameters of a program and of its queries: which there are, and what their values are.

`SET :most = 26;` declares one for the whole program. `CREATE QUERY hot (most DOUBLE = 26, level STRING) AS ...` declares those of a query,
which is not delivered itself; `CREATE QUERY hot_3 AS hot(level => '3')` is that query with values.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.diagnostics.suggest import did_you_mean
from cqc.compiler.meaning.bound import Literal
from cqc.compiler.meaning.catalog import fold
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.parameters.settle import Settling, has_parameters
from cqc.compiler.parameters.values import converted, of_python, of_syntax, of_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.syntax import tree as syntax

Values = dict[str, Literal]
Found = list["Diagnostic"]


def program_values(
    nodes: Sequence[syntax.SetParameter], given: Mapping[str, tuple[str, str]], found: Found
) -> Values:
    """The parameters of a program by folded name; what the command line gives counts more than what is written."""
    values: Values = {}
    for node in nodes:
        value = of_syntax(node.value)
        if value is None or value.type is ColumnType.NULL:
            hint = f"Write a constant: `SET :{node.name} = 26;`."
            found.append(make("CQ164", node.value.span, name=node.name, hint=hint))
            continue
        values[fold(node.name)] = value
    for key, (name, text) in given.items():
        written = f"{name}={text}"
        span = Span(SourceFile("--set", written), 0, len(written))
        declared = values.get(key)
        if declared is None:
            hint = did_you_mean(name, [*values]) or f"Declare it: `SET :{name} = {text};`."
            found.append(make("CQ163", span, name=name, hint=hint))
            continue
        value = of_text(text, declared.type, span)
        if value is None:
            found.append(_mismatch(name, declared.type, f"'{text}'", span))
        else:
            values[key] = value
    return values


def _mismatch(name: str, type_: ColumnType, given: str, span: Span) -> Diagnostic:
    return make("CQ166", span, name=name, type=type_.value, given=given)


def declared_values(
    template: syntax.CreateQuery, values: Mapping[str, Literal], found: Found
) -> Values:
    """The parameters of a query in their declared types: what is given, else their defaults.

    Those that have neither are left out.
    """
    made: Values = {}
    for declared in template.parameters:
        name = declared.name.text
        key = fold(name)
        if key in made:
            found.append(
                make("CQ021", declared.name.span, column=name, relation=template_name(template))
            )
        value = values.get(key)
        if value is None and declared.default is not None:
            value = of_syntax(declared.default)
            if value is None:
                hint = f"Write a constant: `{name} {declared.type.value} = 26`."
                found.append(make("CQ164", declared.default.span, name=name, hint=hint))
                continue
        if value is None:
            continue
        fitting = converted(value, declared.type)
        if fitting is None:
            shown = f"{value.type.value} `{value.span.text}`"
            found.append(_mismatch(name, declared.type, shown, value.span))
        else:
            made[key] = fitting
    return made


def template_name(template: syntax.CreateQuery) -> str:
    return "the query" if template.name is None else template.name.text


def filled(
    template: syntax.CreateQuery, values: Mapping[str, Literal], place: Span, found: Found
) -> Values:
    """The values of all parameters of a query; says which names it has not, and which lack a value."""
    names = {fold(each.name.text): each.name.text for each in template.parameters}
    known = ", ".join(names.values()) or "none"
    for key, value in values.items():
        if key not in names:
            hint = did_you_mean(key, [*names.values()])
            detail = f"Its parameters: {known}."
            query = template_name(template)
            found.append(make("CQ165", value.span, query=query, name=key, detail=detail, hint=hint))
    made = declared_values(template, values, found)
    wrong = {fold(each.name.text) for each in template.parameters} - made.keys()
    missing = [names[key] for key in names if key in wrong and key not in values]
    for name in missing if not found else []:
        hint = f"Write `{template_name(template)}({name} => ...)`."
        query = template_name(template)
        found.append(make("CQ167", place, query=query, name=name, hint=hint))
    return made


def arguments_of(node: syntax.CreateInstance, found: Found) -> Values:
    """The values that a statement gives, by folded name."""
    values: Values = {}
    for argument in node.arguments:
        value = of_syntax(argument.value)
        if value is None:
            hint = f"Write a constant: `{argument.name.text} => 26`."
            found.append(make("CQ164", argument.value.span, name=argument.name.text, hint=hint))
        elif fold(argument.name.text) in values:
            found.append(make("CQ026", argument.name.span, key=argument.name.text))
        else:
            values[fold(argument.name.text)] = value
    return values


def python_values(parameters: Mapping[str, object], found: Found) -> Values:
    """Values that a call in Python gives, by folded name."""
    values: Values = {}
    for name, given in parameters.items():
        written = f"{name}={given!r}"
        span = Span(SourceFile("parameters", written), 0, len(written))
        value = of_python(given, span)
        if value is None:
            hint = "Give a bool, int, float, str, datetime, date, timedelta or None."
            found.append(make("CQ164", span, name=name, hint=hint))
        else:
            values[fold(name)] = value
    return values


def unused(values: Mapping[str, Literal], node: syntax.CreateQuery) -> Found:
    """What to say of values for which a query has no parameter."""
    settling = Settling(values)
    settling.settle(node)
    query = template_name(node)
    return [
        make("CQ165", values[key].span, query=query, name=key)
        for key in values
        if key not in settling.used
    ]


def typed_nulls(template: syntax.CreateQuery, values: Values) -> Values:
    """With NULL for every parameter that has no value, so that a query can be checked that is never delivered."""
    nulls = {
        fold(each.name.text): Literal(None, each.type, each.span) for each in template.parameters
    }
    return {**nulls, **values}


def settled(
    node: syntax.CreateQuery,
    values: Mapping[str, Literal],
    found: Found,
    *,
    is_template: bool = False,
) -> tuple[syntax.CreateQuery, Span | None]:
    """A query without parameters, and the text of its SELECT where that has changed.

    What a template says before its SELECT is not what its instance says.
    """
    if not has_parameters(node.span) and not is_template:
        return node, None
    settling = Settling(values)
    made = settling.settle(node)
    found += settling.diagnostics
    if made is node and not is_template:
        return node, None
    select = settling.text(node.select.span)
    if not is_template:
        return replace(made, span=settling.text(node.span)), select
    text = f"{_head(node)}{select.text}"
    whole = Span(SourceFile(node.span.source.name, text), 0, len(text))
    return replace(made, span=whole), select


def _head(node: syntax.CreateQuery) -> str:
    """What stands before SELECT."""
    if node.name is None:
        return ""
    into = f" INTO {', '.join(each.span.text for each in node.into)}" if node.into else ""
    texts = ", ".join(each.span.text for each in node.options)
    return f"CREATE QUERY {node.name.span.text}{into}{f' WITH ({texts})' if texts else ''} AS "


def settled_view(
    node: syntax.CreateView, values: Mapping[str, Literal], found: Found
) -> syntax.CreateView:
    """A view without parameters."""
    if not has_parameters(node.span):
        return node
    settling = Settling(values)
    made = settling.settle(node)
    found += settling.diagnostics
    return made if made is node else replace(made, span=settling.text(node.span))


def instance(
    node: syntax.CreateInstance, templates: Mapping[str, syntax.CreateQuery], found: Found
) -> tuple[syntax.CreateQuery, Values] | None:
    """The parametrised query that a statement names, under its name, with its values; None after saying what is wrong."""
    template = templates.get(fold(node.template.text))
    if template is None:
        names = [template_name(each) for each in templates.values()]
        hint = did_you_mean(node.template.text, names)
        detail = f"There are {', '.join(names)}." if names else None
        name = node.template.text
        found.append(make("CQ168", node.template.span, name=name, detail=detail, hint=hint))
        return None
    wrong: Found = []
    values = filled(template, arguments_of(node, wrong), node.template.span, wrong)
    found += wrong
    into, options = node.into or template.into, node.options or template.options
    made = replace(template, name=node.name, into=into, options=options)
    return None if wrong else (made, values)
