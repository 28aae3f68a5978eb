"""From the views that a pull query reads to where their rows come from: what is kept for each branch, for how many readers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import bases_of, parts_of
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.errors import RunError
from cqc.runtime.pull.nested_absence import NestedAbsence
from cqc.runtime.pull.nested_query import PLAIN, NestedQuery
from cqc.runtime.pull.pull_window import FAR_US
from cqc.runtime.pull.view_rows import DecidedBranch, KeptBranch, NestedBranch, ViewRows

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.normal import NormalQuery
    from cqc.runtime.columns.packet import Packet
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.pull.kept_bodies import KeptBodies
    from cqc.runtime.pull.nested_query import MakeCircuit
    from cqc.runtime.pull.pull_clause import PullClause
    from cqc.runtime.pull.pull_query import AnyLine
    from cqc.runtime.pull.view_rows import Branch, Decider
    from cqc.runtime.state.shared_state import SharedState


@dataclass(slots=True, eq=False)
class Sources:
    """What is kept for one query over views."""

    query: NestedQuery | NestedAbsence | None = None
    names: set[str] = field(default_factory=set)  # declared streams and tables beneath
    clauses: list[tuple[str, PullClause]] = field(default_factory=list)  # with the branch's name
    lines: list[AnyLine] = field(default_factory=list)  # that were made for it


class ViewSources:
    """Finds and keeps the rows of views.

    Args:
        kept: the results of bodies.
        states: the tuples that are kept, by folded name.
        line: how far a declared stream has come, or has come since now.
        oldest: the oldest instant that can be asked about, given some streams (None: all).
        make_circuit: operators over some states, for one question.
        look: called between two steps of an answer.
        decider: makes the rows of a query with windows or OVER.
    """

    def __init__(
        self,
        kept: KeptBodies,
        states: Mapping[str, SharedState],
        line: Callable[[str, bool], AnyLine],
        oldest: Callable[[list[AnyLine]], int | None],
        make_circuit: MakeCircuit,
        look: Callable[[], None],
        decider: Callable[[NormalQuery], Decider],
    ) -> None:
        self._kept = kept
        self._states = states
        self._line = line
        self._oldest = oldest
        self._make_circuit = make_circuit
        self._look = look
        self._decider = decider
        self._numbers = count()
        self.most_past: int | None = None

    def use(self, query: NormalQuery, circuit: Circuit, *, from_now: bool) -> Sources:
        """Begin to keep what a query over views needs."""
        sources = Sources()
        sources.query = self._nested(query, circuit, sources, from_now=from_now)
        return sources

    def rows_of_tables(self, relation: Relation, circuit: Circuit) -> Packet:
        """The rows of a view over tables alone, which are the same whatever the window is."""
        rows = self._view(relation, circuit, Sources(), from_now=False)
        return rows.packet(-FAR_US, FAR_US, 0)

    def release(self, sources: Sources, circuit: Circuit) -> None:
        """Keep it no longer."""
        for name, clause in sources.clauses:
            self._kept.release_clause(clause)
            circuit.remove(name)

    def _nested(
        self, query: NormalQuery, circuit: Circuit, sources: Sources, *, from_now: bool
    ) -> NestedQuery | NestedAbsence:
        if query.patterns:
            return self._absence(query, circuit, sources, from_now=from_now)
        rows = {}
        for at, item in enumerate(query.items):
            name = fold(item.relation.name)
            if item.relation.made_by is not None and name not in self._states:
                rows[at] = self._view(item.relation, circuit, sources, from_now=from_now)
            else:
                sources.names.add(name)
        return NestedQuery(query, rows, self._states, self._make_circuit, self._look)

    def _absence(
        self, query: NormalQuery, circuit: Circuit, sources: Sources, *, from_now: bool
    ) -> NestedAbsence:
        """The same for a query with outer joins or EXISTS, which reads views inside them too."""
        rows: dict[str, ViewRows] = {}
        since: dict[str, int] = {}
        for part in parts_of(query):
            for item in part.items:
                name = fold(item.relation.name)
                if item.relation.made_by is None or name in self._states:
                    sources.names.add(name)
                    if from_now and item.relation.is_stream:
                        since[name] = self._states[name].head
                elif name not in rows:
                    rows[name] = self._view(item.relation, circuit, sources, from_now=from_now)
        return NestedAbsence(query, rows, self._states, self._make_circuit, self._look, since)

    def _view(
        self, relation: Relation, circuit: Circuit, sources: Sources, *, from_now: bool
    ) -> ViewRows:
        made_by = relation.made_by
        assert made_by is not None
        branches = [
            (self._branch(branch, circuit, sources, from_now=from_now), branch.pull)
            for branch in made_by.branches
        ]
        lines = [self._line(name, from_now) for name in bases_of([relation])]
        sources.lines += lines if from_now else []
        return ViewRows(relation, branches, lines, lambda: self._oldest(lines))

    def _branch(
        self, query: NormalQuery, circuit: Circuit, sources: Sources, *, from_now: bool
    ) -> Branch:
        if query.pull is None and any(item.rows is not None for item in query.items):
            raise RunError(
                "a view whose FROM has ROWS is made as tuples arrive: a query with BEGIN-END cannot read it"
            )
        if query.decided is not None:
            return self._decided(query, circuit, sources, from_now=from_now)
        if (
            query.patterns
            or any(item.relation.made_by is not None for item in query.items)
            or not any(item.relation.is_stream for item in query.items)
        ):
            return NestedBranch(self._nested(query, circuit, sources, from_now=from_now))
        name = f"view rows {next(self._numbers)}"
        own = replace(query, name=name, pull=query.pull or PLAIN)
        node, seat = circuit.add(own, past=not from_now, alone=from_now)
        clause = self._kept.use_clause(node, seat, circuit, self.most_past, from_now=from_now)
        sources.clauses.append((name, clause))
        sources.names.update(fold(item.relation.name) for item in query.items)
        return KeptBranch(query, clause)

    def _decided(
        self, query: NormalQuery, circuit: Circuit, sources: Sources, *, from_now: bool
    ) -> DecidedBranch:
        """A branch with windows or OVER, over all rows that are kept."""
        decider = self._decider(query)
        bare = replace(query, outputs=(), decided=None)
        if any(item.relation.made_by is not None for item in query.items):
            nested = self._nested(bare, circuit, sources, from_now=from_now)
            assert isinstance(nested, NestedQuery)  # OVER and windows read a view with outer joins
            return DecidedBranch(decider, partial(nested.all_rows, decider.by))
        name = f"view rows {next(self._numbers)}"
        own = replace(bare, name=name, pull=PLAIN)
        node, seat = circuit.add(own, past=not from_now, alone=from_now)
        clause = self._kept.use_clause(node, seat, circuit, self.most_past, from_now=from_now)
        sources.clauses.append((name, clause))
        sources.names.update(fold(item.relation.name) for item in query.items)
        return DecidedBranch(decider, lambda _: clause.all_rows(decider.by))
