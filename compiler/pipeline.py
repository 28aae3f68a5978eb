"""The whole compiler as one ordered list.

    text -> syntax -> bound -> normal -> shared graph

`normalise` is the third stage: the rewrites, in the order in which they run, then the classes of what they leave. The
last two, lowering a query to what can be shared and placing it in the graph, are `Graph.add`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.bind.checks.check_bounds import check_bounds
from cqc.compiler.bind.statements.bind_program import bind_program
from cqc.compiler.diagnostics.diagnostic import Severity
from cqc.compiler.graph.derive import derive_items
from cqc.compiler.graph.graph import Graph
from cqc.compiler.graph.lower import lower
from cqc.compiler.meaning.bound import Literal
from cqc.compiler.meaning.normal import NormalQuery
from cqc.compiler.meaning.types import ColumnType
from cqc.compiler.parse.parser import parse
from cqc.compiler.rewrites.absence_patterns import absence_patterns
from cqc.compiler.rewrites.carry_constants import carry_constants
from cqc.compiler.rewrites.check_asked import check_asked
from cqc.compiler.rewrites.classify_predicates import classify_predicates
from cqc.compiler.rewrites.computed_keys import computed_keys
from cqc.compiler.rewrites.fold_constants import fold_constants
from cqc.compiler.rewrites.infer_time_bounds import infer_time_bounds
from cqc.compiler.rewrites.melt_views import melt_views
from cqc.compiler.rewrites.merge_views import merge_views
from cqc.compiler.rewrites.push_negations import push_negations
from cqc.compiler.rewrites.split_conjunctions import split_conjunctions

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.join_tree import Exists

REWRITES = (
    fold_constants,
    push_negations,  # looks at constants, so they are folded first
)


def normalise(query: Query) -> NormalQuery:
    """Classify every condition of a query by what can answer it."""
    if query.has_absence:
        return _normalise_patterns(query)
    query = computed_keys(merge_views(query))
    query = replace(query, items=derive_items(query.items, normalise))
    rewritten = query
    for rewrite in REWRITES:
        rewritten = rewrite(rewritten)
    conditions = split_conjunctions(rewritten)
    classes = classify_predicates(rewritten, conditions)
    if classes.equi_joins:
        carry_constants(query.items, classes.equi_joins, classes.attributes)
    filters = classes.filters()
    return NormalQuery(
        query.name,
        query.items,
        query.outputs,
        query.pull,
        filters,
        tuple(classes.equi_joins),
        tuple(classes.theta_joins),
        tuple(classes.residuals),
        infer_time_bounds(rewritten, classes.limits, filters),
        query.span,
        query.join_hint,
        query.destinations,
        query.decided,
        alert=query.alert,
    )


def _normalise_patterns(query: Query) -> NormalQuery:
    """A query with outer joins or EXISTS, which are ordinary queries with guards between them."""
    query, before = melt_views(query)
    query = replace(
        query,
        items=derive_items(query.items, normalise),
        exists=tuple(_derive_exists(each) for each in query.exists),
    )
    patterns = absence_patterns(query, normalise, before)
    if not patterns:  # nothing can ever be a result: a condition that says so keeps the query
        never = Literal(False, ColumnType.BOOLEAN, query.span)
        return normalise(replace(query, where=never, window=None, tree=None, exists=()))
    if len(patterns) == 1 and not patterns[0].guards and len(patterns[0].items) == len(query.items):
        # An outer join of which WHERE leaves the inner one.
        return replace(patterns[0].query, destinations=query.destinations)
    first = patterns[0].query
    return replace(
        first,
        items=query.items,
        outputs=query.outputs,
        destinations=query.destinations,
        patterns=patterns,
    )


def _derive_exists(exists: Exists) -> Exists:
    """An EXISTS whose views are derived streams."""
    inner = tuple(_derive_exists(each) for each in exists.exists)
    return replace(exists, items=derive_items(exists.items, normalise), exists=inner)


STAGES = (parse, bind_program, normalise, lower, Graph.place)


def check_query(query: Query) -> tuple[NormalQuery, list[Diagnostic]]:
    """The normal form of a query, and what its bounds and those of the queries inside it say to its author."""
    normal = normalise(query)
    inner = [found for item in query.all_items for found in check_view(item.relation)]
    inner += check_asked(query)
    if any(each.severity is Severity.ERROR for each in inner):
        return normal, inner
    return normal, [*inner, *check_bounds(query, normal)]


def check_view(relation: Relation, *, is_declared: bool = False) -> list[Diagnostic]:
    """The same for the queries that make a view; one that is declared is checked where it is."""
    view = relation.view
    if view is None or view.is_declared is not is_declared:
        return []
    return [found for branch in view.branches for found in check_query(branch)[1]]
