"""The graph as JSON, version 1, and back; docs/graph-json.md describes the fields.

Records are written field by field under a `node` tag that names their kind, without source positions. What `read_json`
gives back is what `Graph.place` takes: queries with their parts and the numbers they had, so that a graph read back has
the same numbers and is written as the same text.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from enum import Enum
from typing import TYPE_CHECKING, Any

from cqc.compiler.diagnostics.source import SourceFile, Span
from cqc.compiler.graph.lower import Lowered
from cqc.compiler.graph.picture import draw
from cqc.compiler.meaning import bound, normal
from cqc.compiler.meaning.bound import Item
from cqc.compiler.meaning.catalog import Column, Relation, fold
from cqc.compiler.meaning.types import ColumnType

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.compiler.graph.graph import Graph
    from cqc.compiler.graph.nodes import Body, JoinHost, QueryNode

VERSION = 1
_NOWHERE = Span(SourceFile("graph.json", ""), 0, 0)

Plain = Any  # what the json module reads and writes


@dataclass(frozen=True, slots=True)
class Stored:
    """One query as it was stored."""

    query: normal.NormalQuery
    parts: Lowered
    number: int
    host_number: int | None


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
    found = {
        fold(relation.name): relation
        for body in graph.bodies.values()
        for relation in body.relations
    }
    return dict(sorted(found.items()))


def _relation(relation: Relation) -> Plain:
    return {
        "name": relation.name,
        "kind": "stream" if relation.is_stream else "table",
        "columns": [{"name": c.name, "type": c.type.value} for c in relation.columns],
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


def _query(node: QueryNode) -> Plain:
    return {
        "name": node.name,
        "body": node.body.number,
        "positions": list(node.positions),
        "items": [
            {
                "alias": item.alias,
                "relation": item.relation.name,
                "range_us": item.range_us,
                "rows": item.rows,
            }
            for item in node.items
        ],
        "outputs": [_plain(output) for output in node.outputs],
        "pull": _plain(node.pull),
        "join_hint": _plain(node.join_hint),
    }


def _plain(value: object) -> Plain:
    """A record, enum, tuple or constant in JSON's own types."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"double": str(value)}
    if isinstance(value, Enum):
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
        *(bound.UserCall, bound.Aggregate, bound.Output, bound.Order, bound.Pull, bound.Instant),
        *(
            normal.Interval,
            normal.ValueAtom,
            normal.PatternAtom,
            normal.FoldedAtom,
            normal.ExpressionAtom,
        ),
        *(normal.AllOf, normal.AnyOf, normal.EquiJoin, normal.ThetaJoin, normal.Residual),
        normal.TimeBounds,
    )
}
_ENUMS: dict[tuple[str, str], type[Enum]] = {
    ("Arithmetic", "op"): bound.ArithmeticOp,
    ("Comparison", "op"): bound.ComparisonOp,
    ("ThetaJoin", "op"): bound.ComparisonOp,
    ("Match", "kind"): bound.PatternKind,
    ("PatternAtom", "kind"): bound.PatternKind,
    ("Aggregate", "function"): bound.AggregateFunction,
}


def read_json(text: str) -> Iterator[Stored]:
    """The queries of a graph in their order. ValueError when the text is not a graph of this version."""
    document = json.loads(text)
    version = document.get("version") if isinstance(document, dict) else None
    if version != VERSION:
        raise ValueError(f"not a graph of version {VERSION}: its version is {version}")
    relations = {fold(each["name"]): _read_relation(each) for each in document["relations"]}
    bodies = {each["number"]: each for each in document["bodies"]}
    for stored in document["queries"]:
        yield _read_query(stored, bodies[stored["body"]], relations)


def _read_relation(stored: Plain) -> Relation:
    return Relation(
        stored["name"],
        tuple(Column(each["name"], ColumnType(each["type"])) for each in stored["columns"]),
        stored["event_time"],
        stored["delay_us"],
        stored["options"],
        stored["folder"],
        _NOWHERE,
    )


def _read_query(stored: Plain, body: Plain, relations: Mapping[str, Relation]) -> Stored:
    items = tuple(
        Item(
            each["alias"],
            relations[fold(each["relation"])],
            each["range_us"],
            each["rows"],
            _NOWHERE,
        )
        for each in stored["items"]
    )
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
        return ColumnType(stored)
    enum = _ENUMS.get((kind, key))
    return _read(stored) if enum is None else enum(stored)
