"""What a query with BEGIN-END cannot read or be: views that are made as tuples arrive and of which no past can be found.

Views with ROWS, outer joins or EXISTS are fed by operators that wait for the watermark; a push query reads them at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.rewrites.merge_views import merge_views

if TYPE_CHECKING:
    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.meaning.bound import Query
    from cqc.compiler.meaning.catalog import Relation


def check_asked(query: Query, *, as_view: bool = False) -> list[Diagnostic]:
    """The error of a query with BEGIN-END over such a view, if it is one; `as_view`: it makes a view."""
    if query.pull is None:
        return []
    if query.has_absence and as_view:
        what = "a view with BEGIN-END, GROUP BY or the like"
        hint = "Make the outer join or EXISTS a view of its own, and group over that."
        return [make("CQ108", query.span, what=what, why="outer joins or EXISTS", hint=hint)]
    if query.has_absence:
        made = [item for item in query.all_items if item.relation.view is not None]
        hint = "Write the view's conditions here, over its streams."
        what = "a query with BEGIN-END over views"
        return [
            make("CQ108", item.span, what=what, why="outer joins or EXISTS", hint=hint)
            for item in made[:1]
        ]
    for item in merge_views(query).items:
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
        if merged.pull is None and merged.has_absence:
            return "outer joins or EXISTS"
        if merged.pull is None and any(item.rows is not None for item in merged.items):
            return "ROWS"
        for item in merged.items:
            why = _why_not(item.relation)
            if why is not None:
                return why
    return None
