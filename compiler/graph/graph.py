"""The shared graph: a fold of `add(query)`, with `remove(name)` its inverse.

Compiling a file and registering a query on a running engine are the same path. What a query adds is looked up by content
in `share.py`, so the cost of one more query does not depend on how many there are. The graph holds no data and no
operator state; the runtime keeps its own, keyed by the bodies and hosts found here.

Example:
    graph = Graph()
    change = graph.add(normalise(query))
    change.body_is_new, change.query.body.number
    graph.remove(query.name)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.graph.dot_form import render_dot
from cqc.compiler.graph.interning import Interner
from cqc.compiler.graph.json_form import read_json, write_json
from cqc.compiler.graph.lower import lower, restore
from cqc.compiler.graph.nodes import Change, QueryNode
from cqc.compiler.graph.picture import draw
from cqc.compiler.graph.share import Shared
from cqc.compiler.meaning.absence import all_patterns
from cqc.compiler.meaning.bound import ColumnRef
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from cqc.compiler.graph.lower import Lowered
    from cqc.compiler.graph.nodes import Body, Edge, JoinHost, Operator
    from cqc.compiler.meaning.bound import Item, Output
    from cqc.compiler.meaning.normal import NormalQuery


class Graph:
    """Queries by folded name, and what they share: `bodies` and `hosts` by number."""

    def __init__(self) -> None:
        self._queries: dict[str, QueryNode] = {}
        self._shared = Shared()
        self._outputs: Interner[tuple[Output, ...]] = Interner()
        self._items: Interner[tuple[Item, ...]] = Interner()

    @property
    def queries(self) -> Mapping[str, QueryNode]:
        """The queries by folded name, in the order they came."""
        return self._queries

    @property
    def bodies(self) -> Mapping[int, Body]:
        """What is asked, each thing once, by number."""
        return self._shared.bodies

    @property
    def hosts(self) -> Mapping[int, JoinHost]:
        """The joins, by number."""
        return self._shared.hosts

    @property
    def nodes(self) -> tuple[Operator, ...]:
        """The operators of the picture; made anew at every call."""
        return draw(self)[0]

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The edges of the picture; made anew at every call."""
        return draw(self)[1]

    def add(self, query: NormalQuery) -> Change:
        """Take a query in. Its name must be free."""
        if query.patterns:
            return self._place_patterns(query)
        return self.place(query, lower(query))

    def _place_patterns(
        self, query: NormalQuery, numbers: Sequence[tuple[int, int | None]] = ()
    ) -> Change:
        """Take in a query with outer joins or EXISTS: every body of its patterns serves it."""
        name = _key(query.name)
        if name in self._queries:
            raise InternalError(f"query {query.name} is in the graph already")
        hosts_before, is_new = len(self.hosts), False
        lowered = [lower(pattern.query) for pattern in all_patterns(query.patterns)]
        bodies: dict[int, Body] = {}
        for at, parts in enumerate(lowered):
            known = numbers[at] if numbers else (None, None)
            body, body_is_new = self._shared.body_of(parts, *known)
            is_new |= body_is_new
            bodies[body.number] = body
        first, _ = self._shared.body_of(lower(query.patterns[0].query))
        node = QueryNode(
            query.name,
            first,
            self._outputs.take(_outputs_key(query.outputs), query.outputs),
            query.pull,
            lower(query.patterns[0].query).positions,
            self._items.take(_items_key(query.items), query.items),
            query.span,
            destinations=query.destinations,
            patterns=query.patterns,
            parts=tuple(bodies.values()),
        )
        self._queries[name] = node
        for body in node.parts:
            _attach(body, name, node)
        return Change(node, is_new, len(self.hosts) > hosts_before, False)

    def place(
        self,
        query: NormalQuery,
        parts: Lowered,
        number: int | None = None,
        host_number: int | None = None,
    ) -> Change:
        """Take in a query that is already lowered; with numbers when a graph is read back."""
        name = _key(query.name)
        if name in self._queries:
            raise InternalError(f"query {query.name} is in the graph already")
        hosts_before = len(self.hosts)
        body, is_new = self._shared.body_of(parts, number, host_number)
        node = QueryNode(
            query.name,
            body,
            self._outputs.take(_outputs_key(query.outputs), query.outputs),
            query.pull,
            parts.positions,
            self._items.take(_items_key(query.items), query.items),
            query.span,
            query.join_hint,
            query.destinations,
            query.decided,
            alert=query.alert,
        )
        self._queries[name] = node
        _attach(body, name, node)
        family = body.family if is_new else None
        return Change(
            node,
            is_new,
            len(self.hosts) > hosts_before,
            family is not None and len(family.ranked) == 1,
        )

    def find(self, parts: Lowered) -> tuple[Body | None, JoinHost | None]:
        """The body that asks the same as a lowered query, and the join that it would sit at, where they are there."""
        return self._shared.find(parts)

    def remove(self, name: str) -> Change:
        """Take a query out, with everything that only it used. KeyError when there is none of this name."""
        key = _key(name)
        node = self._queries.pop(key)
        self._outputs.release(_outputs_key(node.outputs))
        self._items.release(_items_key(node.items))
        body = node.body
        hosts_before = len(self.hosts)
        if node.parts:
            is_gone = False
            for part in node.parts:
                _detach(part, key)
                if part.users is None:
                    is_gone = True
                    self._shared.remove_body(part)
            return Change(node, is_gone, len(self.hosts) < hosts_before, False)
        _detach(body, key)
        if body.users is not None:
            return Change(node, False, False, False)
        family = body.family
        self._shared.remove_body(body)
        family_is_gone = family is not None and not family.ranked
        return Change(node, True, len(self.hosts) < hosts_before, family_is_gone)

    def normal(self, name: str) -> NormalQuery:
        """The normal form of a query, put together from what the graph keeps."""
        return restore(self._queries[_key(name)])

    def to_svg(self) -> str:
        """The graph as an SVG picture; thousands of queries are folded into one box per group of them."""
        from cqc.compiler.graph.fold_deliveries import summarise
        from cqc.compiler.graph.svg_form import render_svg  # few need it, and it takes time to load

        return render_svg(*summarise(self.nodes, self.edges))

    def _repr_html_(self) -> str:
        """The picture, for notebooks."""
        return self.to_svg()

    def to_json(self) -> str:
        """The graph as JSON text; docs/graph-json.md says what is in it."""
        return write_json(self)

    @classmethod
    def from_json(cls, text: str) -> Graph:
        """The graph that `to_json` wrote, with the same numbers."""
        graph = cls()
        for stored in read_json(text):
            if stored.numbers:
                graph._place_patterns(stored.query, stored.numbers)
                continue
            graph.place(stored.query, stored.parts, stored.number, stored.host_number)
        return graph

    def to_dot(self) -> str:
        """The picture in Graphviz's language."""
        return render_dot(self.nodes, self.edges)


def _outputs_key(outputs: tuple[Output, ...]) -> Hashable:
    # Plain columns by what they are: names and numbers are hashed and compared much faster than nodes.
    flat: list[Hashable] = []
    for output in outputs:
        expression = output.expression
        if type(expression) is not ColumnRef:
            return outputs
        flat += (output.name, expression.item, expression.column, expression.type)
    return tuple(flat)


def _items_key(items: tuple[Item, ...]) -> Hashable:
    # Relations are compared by identity: the catalog has one object each, and comparing columns is slow.
    return tuple(
        [(item.alias, id(item.relation), item.range_us, item.rows, item.window) for item in items]
    )


def _key(name: str) -> str:
    folded = fold(name)
    return name if folded == name else folded  # one string, not two equal ones


def _attach(body: Body, name: str, node: QueryNode) -> None:
    if body.users is None:
        body.users = node
    elif isinstance(body.users, QueryNode):
        body.users = {_key(body.users.name): body.users, name: node}
    else:
        body.users[name] = node


def _detach(body: Body, name: str) -> None:
    if isinstance(body.users, dict):
        del body.users[name]
        if not body.users:
            body.users = None
    else:
        body.users = None
