"""Views over tables alone: each is a table, whose rows are found once, when all rows of the tables beneath it are there.

That is before the first tuple of a stream; a view that is read from later on is filled when its first reader comes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.graph.derive import declared_beneath
from cqc.compiler.meaning.catalog import fold
from cqc.runtime.join.execute.join_node import push_packet

if TYPE_CHECKING:
    from cqc.compiler.meaning.catalog import Relation
    from cqc.runtime.engine.circuit import Circuit
    from cqc.runtime.engine.relations import Relations
    from cqc.runtime.pull.pull_queries import PullQueries


class DerivedTables:
    """The tables that are made for push queries, each once for all that read it."""

    def __init__(self, relations: Relations, circuit: Circuit, pulls: PullQueries) -> None:
        self._relations = relations
        self._circuit = circuit
        self._pulls = pulls
        self._users: dict[str, int] = {}  # by folded name
        self._made: dict[str, Relation] = {}  # with what makes them
        self._empty: list[str] = []  # that wait for the rows of tables
        self._has_begun = False  # no rows of tables can follow

    def use(self, relation: Relation) -> Relation:
        """The table that a view stands for, with one more reader."""
        table = replace(relation, name=f"{relation.name}@table", made_by=None)
        name = fold(table.name)
        if name not in self._users:
            self._relations.declare_table(table)
            self._circuit.declare(name)
            self._pulls.declare(name)
            self._users[name] = 0
            self._made[name] = relation
            self._empty.append(name)
            self._fill()
        self._users[name] += 1
        return table

    def leave(self, name: str) -> bool:
        """A reader leaves: forget a table that was made for nobody else. False: it is none of these."""
        if name not in self._users:
            return False
        self._users[name] -= 1
        if not self._users[name]:
            del self._users[name], self._made[name]
            self._empty = [each for each in self._empty if each != name]
            self._circuit.undeclare(name)
            self._pulls.undeclare(name)
            self._relations.drop_table(name)
        return True

    def beneath(self) -> set[str]:
        """The folded names of the declared tables that these are made of."""
        return {fold(each.name) for each in declared_beneath(self._made.values())}

    def begin(self) -> None:
        """A tuple of a stream comes: all rows of tables are there."""
        if not self._has_begun:
            self._has_begun = True
            self._fill()

    def _fill(self) -> None:
        """Find the rows of the tables that wait, once no row can follow beneath them."""
        while self._has_begun and self._empty:
            name = self._empty.pop(0)
            packet = self._pulls.rows_of_tables(self._made[name], self._circuit)
            state, joins = self._relations.states[name], self._circuit.joins_of(name)
            push_packet(state, joins, packet, keep_all=True)
