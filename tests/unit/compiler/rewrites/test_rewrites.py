"""Each rewrite on its own file of queries: before and after, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler import compile_files
from cqc.compiler.meaning.normal import ALWAYS
from cqc.compiler.pipeline import REWRITES, normalise
from cqc.compiler.rewrites.fold_constants import fold_constants
from cqc.compiler.rewrites.push_negations import push_negations
from cqc.compiler.rewrites.split_conjunctions import split_conjunctions
from cqc.compiler.wording.expressions import duration_text, expression_text, formula_text
from cqc.compiler.wording.times import pair_texts
from tests.conftest import GOLDEN, Golden

if TYPE_CHECKING:
    from collections.abc import Callable

    from cqc.compiler.meaning.bound import Query


def conditions(query: Query) -> list[str]:
    shown = {"WHERE": query.where, "WINDOW": query.window}
    relations = [item.relation for item in query.items]
    aliases = [item.alias for item in query.items]
    return [
        f"{clause} {expression_text(condition, relations, aliases)}"
        for clause, condition in shown.items()
        if condition is not None
    ]


def folded(query: Query) -> list[str]:
    return conditions(fold_constants(query))


def pushed(query: Query) -> list[str]:
    return conditions(push_negations(fold_constants(query)))


def split(query: Query) -> list[str]:
    relations = [item.relation for item in query.items]
    aliases = [item.alias for item in query.items]
    parts = split_conjunctions(push_negations(fold_constants(query)))
    return [expression_text(part, relations, aliases) for part in parts] or ["(nothing)"]


def classified(query: Query) -> list[str]:
    normal = normalise(query)
    relations = [item.relation for item in query.items]
    aliases = [item.alias for item in query.items]
    lines = [
        f"attribute  {alias}: {formula_text(formula, relation)}"
        for alias, relation, formula in zip(aliases, relations, normal.filters, strict=True)
        if formula != ALWAYS
    ]
    for join in normal.equi_joins:
        left = relations[join.left_item].columns[join.left_column].name
        right = relations[join.right_item].columns[join.right_column].name
        lines.append(
            f"equi-join  {aliases[join.left_item]}.{left} = {aliases[join.right_item]}.{right}"
        )
    for theta in normal.theta_joins:
        exact = "exact" if theta.exact else "to be checked"
        lines.append(
            f"theta      {expression_text(theta.expression, relations, aliases)} ({exact})"
        )
    lines += [f"window     {text}" for text in pair_texts(normal.bounds, aliases)]
    for residual in normal.residuals:
        lines.append(f"residual   {expression_text(residual.expression, relations, aliases)}")
    return lines


def bounded(query: Query) -> list[str]:
    bounds = normalise(query).bounds
    aliases = [item.alias for item in query.items]
    lines = ["contradiction"] if bounds.contradictory else list(pair_texts(bounds, aliases))
    for at, item in enumerate(query.items):
        if item.relation.is_stream and not bounds.contradictory:
            kept = bounds.keep_us(at)
            lines.append(
                f"keep {item.alias}: {'for ever' if kept is None else duration_text(kept)}"
            )
    return lines


@pytest.mark.parametrize(
    ("rewrite", "after"),
    [
        ("fold_constants", folded),
        ("push_negations", pushed),
        ("split_conjunctions", split),
        ("classify_predicates", classified),
        ("infer_time_bounds", bounded),
    ],
)
def test_each_query_is_rewritten_as_recorded(
    rewrite: str, after: Callable[[Query], list[str]], golden: Golden
) -> None:
    program = compile_files([GOLDEN / "rewrites" / f"{rewrite}.cq"])
    lines = []
    for query in program.queries:
        lines += [query.name, *(f"  {line}" for line in conditions(query)), "becomes"]
        lines += [*(f"  {line}" for line in after(query)), ""]
    golden(f"rewrites/{rewrite}.txt", "\n".join(lines))


@pytest.mark.parametrize("file", ["fold_constants", "push_negations", "classify_predicates"])
def test_a_second_run_of_a_rewrite_changes_nothing(file: str) -> None:
    program = compile_files([GOLDEN / "rewrites" / f"{file}.cq"])
    for query in program.queries:
        once = query
        for rewrite in REWRITES:
            once = rewrite(once)
            assert rewrite(once) == once
