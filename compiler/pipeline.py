"""The whole compiler as one ordered list.

    text -> syntax -> bound -> normal -> shared graph

`normalise` is the third stage: the rewrites, in the order in which they run, then the classes of what they leave. The
last two, lowering a query to what can be shared and placing it in the graph, are `Graph.add`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.bind.bind_program import bind_program
from cqc.compiler.graph.graph import Graph
from cqc.compiler.graph.lower import lower
from cqc.compiler.meaning.normal import NormalQuery
from cqc.compiler.parse.parser import parse
from cqc.compiler.rewrites.carry_constants import carry_constants
from cqc.compiler.rewrites.classify_predicates import classify_predicates
from cqc.compiler.rewrites.fold_constants import fold_constants
from cqc.compiler.rewrites.infer_time_bounds import infer_time_bounds
from cqc.compiler.rewrites.push_negations import push_negations
from cqc.compiler.rewrites.split_conjunctions import split_conjunctions

if TYPE_CHECKING:
    from cqc.compiler.meaning.bound import Query

REWRITES = (
    fold_constants,
    push_negations,  # looks at constants, so they are folded first
)


def normalise(query: Query) -> NormalQuery:
    """Classify every condition of a query by what can answer it."""
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
    )


STAGES = (parse, bind_program, normalise, lower, Graph.place)
