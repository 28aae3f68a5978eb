"""Views that a query with BEGIN-END cannot read: those with ROWS, which are made as tuples arrive and of which no past can be found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.rewrites.merge_views import merge_views

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation


def check_asked(query: Query) -> list[Diagnostic]:
    """The error of a query with BEGIN-END over such a view."""
    if query.pull is None:
        return []
    for item in merge_views(query).all_items:
        why = _why_not(item.relation)
        if why is not None:
            hint = "Let a push query read it, or write its conditions here."
            what = f"{item.alias}, read by a query with BEGIN-END,"
            return [make("CQ108", item.span, what=what, why=why, hint=hint)]
    return []


def _why_not(relation: Relation) -> str | None:
    """What a view, or one beneath it, has that cannot be asked for."""
    for branch in () if relation.view is None else relation.view.branches:
        merged = merge_views(branch)
        if merged.pull is None and any(item.rows is not None for item in merged.items):
            return "ROWS"
        for item in merged.all_items:
            why = _why_not(item.relation)
            if why is not None:
                return why
    return None
