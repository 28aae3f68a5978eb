"""The warning that queries wait for streams which may fall silent: input is followed, and IDLE is off.

Absence and windows are decided by watermarks, so they wait for every stream that they read. A file ends, and that decides all; a
stream that is followed may be silent for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.errors_catalogue import make
from cqc.compiler.graph.derive import bases_of, parts_of
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.source_formats import CONNECTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cqc.compiler.diagnostics.diagnostic import Diagnostic
    from cqc.compiler.graph.nodes import QueryNode
    from cqc.compiler.meaning.catalog import Catalog, Relation
    from cqc.compiler.meaning.normal import NormalQuery

_NAMED = 3  # queries in the detail; more than that helps nobody


def idle_warnings(
    catalog: Catalog, queries: Iterable[QueryNode], *, follows_all: bool = False
) -> list[Diagnostic]:
    """One warning for each stream that is followed and that a query waits for.

    `follows_all`: files are followed too.
    """
    if catalog.settings.idle_us is not None:
        return []
    followed = {
        name: relation
        for name, relation in catalog.relations.items()
        if relation.is_stream and (follows_all or _is_connection(relation))
    }
    if not followed:
        return []
    waiting: dict[str, list[str]] = {}
    for node in queries:
        for name in _waits_for(node):
            if name in followed:
                waiting.setdefault(name, []).append(node.name)
    return [
        make(
            "CQ088",
            followed[name].span,
            stream=followed[name].name,
            detail=f"While {followed[name].name} is silent, {_listed(names)} cannot be decided.",
            hint="Write `SET IDLE = 30 SECONDS;`: streams that are silent for so long are not waited for.",
        )
        for name, names in waiting.items()
    ]


def _is_connection(relation: Relation) -> bool:
    return relation.options.get("format", "").lower() in CONNECTIONS


def _waits_for(node: QueryNode | NormalQuery) -> tuple[str, ...]:
    """The declared streams whose watermarks decide about rows of a query, or of a view that it reads."""
    relations = (
        [item.relation for each in all_patterns(node.patterns) for item in each.query.items]
        if node.patterns
        else [item.relation for item in node.items]
    )
    found: set[str] = set()
    guards = [guard for each in all_patterns(node.patterns) for guard in each.guards]
    if node.pull is None and (node.decided is not None or any(each.streams for each in guards)):
        found.update(bases_of(relations))
    for relation in relations:
        for branch in () if relation.made_by is None else relation.made_by.branches:
            for part in parts_of(branch):
                found.update(_waits_for(branch if branch.patterns else part))
    return tuple(sorted(found))


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    rest = len(names) - _NAMED
    return shown if rest <= 0 else f"{shown} and {rest} more"
