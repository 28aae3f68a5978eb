"""The graph as JSON, version 1, and back; docs/graph-json.md describes the fields.

Records are written field by field under a `node` tag that names their kind, without source positions. What `read_json`
gives back is what `Graph.place` takes: queries with their parts and the numbers they had, so that a graph read back has
the same numbers and is written as the same text.
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.record import record
from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.graph.lower import Lowered, in_own_order, lower
from cqc.compiler.graph.picture import derived_relations, draw
from cqc.compiler.graph.share import is_body_of
from cqc.compiler.meaning import alerts, bound, normal
from cqc.compiler.meaning.absence import Guard, KeyPair, Pattern
from cqc.compiler.meaning.bound import Item
from cqc.compiler.meaning.catalog import Column, Relation, fold
from cqc.compiler.meaning.types import ColumnType, type_of_text
from cqc.compiler.meaning.views import DerivedStream, Unnest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from cqc.compiler.graph.graph import Graph
    from cqc.compiler.graph.nodes import Body, JoinHost, QueryNode

VERSION = 1
_NOWHERE = Span(SourceFile("graph.json", ""), 0, 0)

Plain = Any  # what the json module reads and writes


@record
class Stored:
    """One query as it was stored."""

    query: normal.NormalQuery
    parts: Lowered
    number: int
    host_number: int | None
    numbers: tuple[tuple[int, int | None], ...] = ()  # of the bodies and hosts of its patterns


def write_json(graph: Graph) -> str:
    """The whole graph; equal graphs give equal text."""
    operators, edges = draw(graph)
    document = {
        "version": VERSION,
        "relations": [_relation(each) for each in _relations(graph).values()],
        "hosts": [_host(host) for _, host in sorted(graph.hosts.items())],
        "bodies": [_body(body) for _, body in sorted(graph.bodies.items())],
        "queries": [_query(node) for node in graph.queries.values()],
        "nodes": [_plain(each) for each in operators],
        "edges": [_plain(each) for each in edges],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _relations(graph: Graph) -> dict[str, Relation]:
    found: dict[str, Relation] = {}
    views = derived_relations(graph.bodies.values())
    bodies = [body.relations for body in graph.bodies.values()]
    bodies += [
        tuple(item.relation for item in branch.items)
        for view in views
        if view.made_by is not None
        for branch in view.made_by.branches
    ]
    for relations in bodies:
        found |= {fold(each.name): each for each in relations if each.made_by is None}
    return {**dict(sorted(found.items())), **{each.name: each for each in views}}


def _unnest(unnest: Unnest) -> Plain:
    return {
        "output": unnest.output,
        "outer": unnest.outer,
        "ordinality": unnest.ordinality,
    }


def _relation(relation: Relation) -> Plain:
    made_by = relation.made_by
    view: Plain = {}
    if made_by is not None:
        view = {
            "view": {
                "title": made_by.title,
                "level": made_by.level,
                "adds_time": made_by.adds_time,
                "is_windowed": made_by.is_windowed,
                "bases": list(made_by.bases),
                "numeric_time": made_by.numeric_time,
                "inner": [each.name for each in made_by.inner],
                "branches": [_branch(branch) for branch in made_by.branches],
                **({} if made_by.unnest is None else {"unnest": _unnest(made_by.unnest)}),
            }
        }
    return {
        **view,
        "name": relation.name,
        "kind": "stream" if relation.is_stream else "table",
        "columns": [
            {
                "name": c.name,
                "type": c.type.value,
                **({"path": c.path} if c.path else {}),
                **({"inside": c.inside} if c.inside else {}),
            }
            for c in relation.columns
        ],
        "event_time": relation.event_time,
        "delay_us": relation.delay_us,
        "options": dict(relation.options),
        "folder": relation.folder,
    }


def _host(host: JoinHost) -> Plain:
    return {
        "number": host.number,
        "relations": [relation.name for relation in host.relations],
        "equi_joins": [_plain(join) for join in host.equi_joins],
        "parent": None if host.parent is None else host.parent.number,
        "bodies": sorted(host.bodies),
        "families": [
            {
                "number": family.number,
                "predicate_list": _plain(family.predicate_list),
                "members": [body.number for body in family.members],
                "thresholds": [_plain(threshold) for threshold in family.thresholds],
                "closed": list(family.closed),
            }
            for _, family in sorted(host.families.items())
        ],
    }


def _body(body: Body) -> Plain:
    return {
        "number": body.number,
        "host": None if body.host is None else body.host.number,
        "relations": [relation.name for relation in body.relations],
        "filters": [_plain(formula) for formula in body.filters],
        "equi_joins": [_plain(join) for join in body.equi_joins],
        "theta_joins": [_plain(join) for join in body.theta_joins],
        "residuals": [_plain(residual) for residual in body.residuals],
        "bounds": _plain(body.bounds),
        "rows": list(body.rows),
        "order": list(body.order),
    }


def _branch(query: normal.NormalQuery) -> Plain:
    """A branch of a view, in its own FROM order."""
    return {
        "items": _items(query.items),
        "outputs": _plain(query.outputs),
        "pull": _plain(query.pull),
        "filters": _plain(query.filters),
        "equi_joins": _plain(query.equi_joins),
        "theta_joins": _plain(query.theta_joins),
        "residuals": _plain(query.residuals),
        "bounds": _plain(query.bounds),
        "join_hint": _plain(query.join_hint),
        "decided": _plain(query.decided),
        **({"patterns": [_view_pattern(e) for e in query.patterns]} if query.patterns else {}),
    }


def _view_pattern(pattern: Pattern) -> Plain:
    """A pattern of a branch, whose query is in its own FROM order too."""
    guards = [_guard(each, [_view_pattern(mark) for mark in each.marks]) for each in pattern.guards]
    return {"query": _branch(pattern.query), "numbers": list(pattern.items), "guards": guards}


def _guard(guard: Guard, marks: list[Plain]) -> Plain:
    return {
        "negated": guard.negated,
        "over": list(guard.over),
        "reach": [list(row) for row in guard.reach],
        "streams": list(guard.streams),
        "is_join": guard.is_join,
        "marks": marks,
        **({"ends": _plain(guard.ends)} if any(guard.ends) else {}),
        **({"keys": _plain(guard.keys)} if guard.keys is not None else {}),
    }


def _items(items: Sequence[Item]) -> Plain:
    return [
        {
            "alias": item.alias,
            "relation": item.relation.name,
            "range_us": item.range_us,
            "rows": item.rows,
            "window": _plain(item.window),
        }
        for item in items
    ]


def _query(node: QueryNode) -> Plain:
    return {
        "name": node.name,
        "body": node.body.number,
        "positions": list(node.positions),
        "items": _items(node.items),
        "outputs": [_plain(output) for output in node.outputs],
        "pull": _plain(node.pull),
        "join_hint": _plain(node.join_hint),
        "destinations": _plain(node.destinations),
        "decided": _plain(node.decided),
        "alert": _plain(node.alert),
        **({"patterns": [_pattern(each, node) for each in node.patterns]} if node.patterns else {}),
    }


def _pattern(pattern: Pattern, node: QueryNode) -> Plain:
    """A pattern of a query with outer joins or EXISTS: the number of its body, and its guards."""
    parts = lower(pattern.query)
    body = next(each for each in node.parts if is_body_of(parts, each))
    return {
        "body": body.number,
        "positions": list(parts.positions),
        "numbers": list(pattern.items),
        "items": _items(pattern.query.items),
        "outputs": [_plain(output) for output in pattern.query.outputs],
        "guards": [
            _guard(guard, [_pattern(mark, node) for mark in guard.marks])
            for guard in pattern.guards
        ],
    }


def _plain(value: object) -> Plain:
    """A record, enum, tuple or constant in JSON's own types."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"double": str(value)}
    if isinstance(value, Enum | ColumnType):
        return value.value
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    named = {f.name: _plain(getattr(value, f.name)) for f in fields(value) if f.name != "span"}  # type: ignore[arg-type]  # a record
    return {"node": type(value).__name__, **named}


# Reading

RECORDS: dict[str, type] = {
    record.__name__: record
    for record in (
        *(bound.Literal, bound.ColumnRef, bound.Arithmetic, bound.Negate, bound.Comparison),
        *(bound.And, bound.Or, bound.Not, bound.InList, bound.Match, bound.IsNull),
        *(bound.IsTruth, bound.IsDistinct, bound.Case, bound.Cast, bound.FunctionCall),
        *(bound.Over, bound.Frame, bound.FrameEnd, bound.TableWindow, bound.Decided),
        *(bound.UserCall, bound.Aggregate, bound.Output, bound.Order, bound.Pull, bound.Instant),
        *(
            normal.Interval,
            normal.ValueAtom,
            normal.PatternAtom,
            normal.FoldedAtom,
            normal.NetAtom,
            normal.ElementAtom,
            normal.ExpressionAtom,
        ),
        *(normal.AllOf, normal.AnyOf, normal.EquiJoin, normal.ThetaJoin, normal.Residual),
        *(normal.TimeBounds, KeyPair, bound.Destinations, alerts.Alert, alerts.Text),
    )
}
_ENUMS: dict[tuple[str, str], type[Enum]] = {
    ("Arithmetic", "op"): bound.ArithmeticOp,
    ("Comparison", "op"): bound.ComparisonOp,
    ("ThetaJoin", "op"): bound.ComparisonOp,
    ("Match", "kind"): bound.PatternKind,
    ("PatternAtom", "kind"): bound.PatternKind,
    ("Aggregate", "function"): bound.AggregateFunction,
    ("Over", "function"): bound.OverFunction,
    ("FrameEnd", "kind"): bound.EndKind,
    ("TableWindow", "kind"): bound.WindowKind,
    ("Decided", "decision"): bound.Decision,
}


def read_json(text: str) -> Iterator[Stored]:
    """The queries of a graph in their order. ValueError when the text is not a graph of this version."""
    document = json.loads(text)
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise ValueError(f"not a graph of version {VERSION}: its version is {version}")
    relations: dict[str, Relation] = {}
    for each in document["relations"]:
        relations[fold(each["name"])] = _read_relation(each, relations)
    bodies = {each["number"]: each for each in document["bodies"]}
    for stored in document["queries"]:
        if "patterns" in stored:
            yield _read_absence(stored, bodies, relations)
        else:
            yield _read_query(stored, bodies[stored["body"]], relations)


def _read_absence(
    stored: Plain, bodies: Mapping[int, Plain], relations: Mapping[str, Relation]
) -> Stored:
    """A query with outer joins or EXISTS; `numbers` are those of the bodies of `all_patterns`, in their order."""
    numbers: list[tuple[int, int | None]] = []

    def read_pattern(each: Plain) -> Pattern:
        guards = tuple(
            _read_guard(guard, tuple(read_pattern(mark) for mark in guard["marks"]))
            for guard in each["guards"]
        )
        part = _read_query(
            {**each, "name": stored["name"], "pull": stored["pull"]},
            bodies[each["body"]],
            relations,
        )
        numbers.append((part.number, part.host_number))
        return Pattern(in_own_order(part.query, part.parts), tuple(each["numbers"]), guards)

    patterns = tuple(read_pattern(each) for each in stored["patterns"])
    first = patterns[0].query
    items = tuple(
        Item(e["alias"], relations[fold(e["relation"])], e["range_us"], e["rows"], _NOWHERE)
        for e in stored["items"]
    )
    query = replace(
        first,
        items=items,
        outputs=_read(stored["outputs"]),
        destinations=_read(stored.get("destinations")),
        patterns=patterns,
    )
    return Stored(query, lower(first), numbers[-1][0], numbers[-1][1], tuple(numbers))


def _read_guard(stored: Plain, marks: tuple[Pattern, ...]) -> Guard:
    return Guard(
        stored["negated"],
        tuple(stored["over"]),
        marks,
        tuple(tuple(row) for row in stored["reach"]),
        tuple(stored["streams"]),
        stored["is_join"],
        _read(stored.get("ends", [[] for _ in stored["reach"]])),
        _read(stored.get("keys")),
    )


def _read_view_pattern(name: str, stored: Plain, known: Mapping[str, Relation]) -> Pattern:
    guards = [
        _read_guard(guard, tuple(_read_view_pattern(name, mark, known) for mark in guard["marks"]))
        for guard in stored["guards"]
    ]
    query = _read_branch(name, stored["query"], known)
    return Pattern(query, tuple(stored["numbers"]), tuple(guards))


def _read_path(stored: list[str] | None) -> tuple[str, ...] | None:
    return None if stored is None else tuple(stored)


def _read_relation(stored: Plain, known: Mapping[str, Relation]) -> Relation:
    view = stored.get("view")
    made_by = None
    if view is not None:
        made_by = DerivedStream(
            view["title"],
            tuple(_read_branch(view["title"], each, known) for each in view["branches"]),
            view["adds_time"],
            view["is_windowed"],
            tuple(view["bases"]),
            view["level"],
            tuple(known[fold(name)] for name in view["inner"]),
            view["numeric_time"],
            unnest=None if "unnest" not in view else Unnest(**view["unnest"]),
        )
    return Relation(
        stored["name"],
        tuple(
            Column(
                each["name"],
                type_of_text(each["type"]),
                _read_path(each.get("path")),
                tuple(each["inside"]) if "inside" in each else None,
            )
            for each in stored["columns"]
        ),
        stored["event_time"],
        stored["delay_us"],
        stored["options"],
        stored["folder"],
        _NOWHERE,
        made_by=made_by,
    )


def _read_branch(name: str, stored: Plain, known: Mapping[str, Relation]) -> normal.NormalQuery:
    return normal.NormalQuery(
        name,
        _read_items(stored["items"], known),
        _read(stored["outputs"]),
        _read(stored["pull"]),
        _read(stored["filters"]),
        _read(stored["equi_joins"]),
        _read(stored["theta_joins"]),
        _read(stored["residuals"]),
        _read(stored["bounds"]),
        _NOWHERE,
        _read(stored["join_hint"]),
        decided=_read(stored.get("decided")),
        patterns=tuple(
            _read_view_pattern(name, each, known) for each in stored.get("patterns", ())
        ),
    )


def _read_items(stored: Plain, known: Mapping[str, Relation]) -> tuple[Item, ...]:
    return tuple(
        Item(
            each["alias"],
            known[fold(each["relation"])],
            each["range_us"],
            each["rows"],
            _NOWHERE,
            _read(each.get("window")),
        )
        for each in stored
    )


def _read_query(stored: Plain, body: Plain, relations: Mapping[str, Relation]) -> Stored:
    items = _read_items(stored["items"], relations)
    parts = Lowered(
        tuple(relations[fold(name)] for name in body["relations"]),
        _read(body["filters"]),
        _read(body["equi_joins"]),
        _read(body["theta_joins"]),
        _read(body["residuals"]),
        _read(body["bounds"]),
        tuple(body["rows"]),
        tuple(body["order"]),
        tuple(stored["positions"]),
    )
    query = normal.NormalQuery(
        stored["name"],
        items,
        _read(stored["outputs"]),
        _read(stored["pull"]),
        parts.filters,
        parts.equi_joins,
        parts.theta_joins,
        parts.residuals,
        parts.bounds,
        _NOWHERE,
        _read(stored.get("join_hint")),
        _read(stored.get("destinations")),
        _read(stored.get("decided")),
        alert=_read(stored.get("alert")),
    )
    return Stored(query, parts, body["number"], body["host"])


def _read(stored: Plain) -> Any:
    if isinstance(stored, list):
        return tuple([_read(each) for each in stored])
    if not isinstance(stored, dict):
        return stored
    if "double" in stored:
        return float(stored["double"])
    kind = stored["node"]
    record = RECORDS[kind]
    values = {key: _read_field(kind, key, each) for key, each in stored.items() if key != "node"}
    if any(each.name == "span" for each in fields(record)):
        values["span"] = _NOWHERE
    return record(**values)


def _read_field(kind: str, key: str, stored: Plain) -> Any:
    if key == "type":
        return type_of_text(stored)
    enum = _ENUMS.get((kind, key))
    return _read(stored) if enum is None or stored is None else enum(stored)
