"""The work that is already there: bodies, hosts and families found again by what they are.

Each is kept under a key made of its content, so adding a query looks up a few keys however many queries there are. Keys
name relations by folded name: in one program a name means one relation.
"""

from __future__ import annotations

from sys import intern
from typing import TYPE_CHECKING

from cqc.compiler.graph.host_nesting import HostNesting
from cqc.compiler.graph.interning import Numbers
from cqc.compiler.graph.lower import Lowered, classes_of
from cqc.compiler.graph.nodes import Body, Family, JoinHost
from cqc.compiler.graph.predicate_lists import insert_member, new_family, rank_theta, remove_member
from cqc.compiler.meaning.catalog import fold

if TYPE_CHECKING:
    from collections.abc import Hashable

    from cqc.compiler.graph.predicate_lists import Ranked
    from cqc.compiler.meaning.catalog import Relation


_NO_NUMBER = -1


class Shared:
    """All bodies, hosts and families, by number and by content."""

    def __init__(self) -> None:
        self.bodies: dict[int, Body] = {}
        self.hosts: dict[int, JoinHost] = {}
        self._body_by_key: dict[Hashable, Body] = {}
        self._host_by_key: dict[Hashable, JoinHost] = {}
        self._family_by_key: dict[Hashable, Family] = {}
        self._family_numbers: dict[int, Numbers] = {}  # by host
        # One tuple for all bodies over the same relations; there are as many as there are ways to say FROM.
        self._relations: dict[tuple[int, ...], tuple[Relation, ...]] = {}
        self._nesting = HostNesting()
        self._body_numbers = Numbers()
        self._host_numbers = Numbers()

    def body_of(
        self, parts: Lowered, number: int | None = None, host_number: int | None = None
    ) -> tuple[Body, bool]:
        """The body that asks the same, or a new one with these parts; and whether it is new.

        The numbers are given when a graph is read back.
        """
        key = _body_key(parts)
        if len(parts.relations) > 1:
            known = self._body_by_key.get(key)
            if known is not None:
                return known, False
        host = None if len(parts.relations) == 1 else self._host_of(parts, host_number)
        fresh = self._fresh_body(parts, host)
        # Hashing a long formula takes longer than making a body in vain, so it is looked up and entered at once.
        body = self._body_by_key.setdefault(key, fresh)
        if body is not fresh:
            return body, False
        body.number = _claim(self._body_numbers, number)
        self.bodies[body.number] = body
        if host is not None:
            host.bodies[body.number] = body
            self._join_family(host, body)
        return body, True

    def find(self, parts: Lowered) -> tuple[Body | None, JoinHost | None]:
        """The body that asks the same, and the host that it would sit on, where they are there."""
        host = None if len(parts.relations) == 1 else self._host_by_key.get(_host_key(parts))
        return self._body_by_key.get(_body_key(parts)), host

    def _fresh_body(self, parts: Lowered, host: JoinHost | None) -> Body:
        return Body(
            _NO_NUMBER,
            self._relations.setdefault(tuple(map(id, parts.relations)), parts.relations),
            parts.filters,
            () if host is None else host.equi_joins,
            parts.theta_joins,
            parts.residuals,
            parts.bounds,
            parts.rows,
            parts.order,
            host,
            None,
            None,
        )

    def remove_body(self, body: Body) -> None:
        """Forget a body that no query uses, and what only it used."""
        del self.bodies[body.number]
        del self._body_by_key[_body_key(body)]
        self._body_numbers.release(body.number)
        host = body.host
        if host is not None:
            del host.bodies[body.number]
            self._leave_family(host, body)
            if not host.bodies:
                self._remove_host(host)

    def _host_of(self, parts: Lowered, number: int | None) -> JoinHost:
        key = _host_key(parts)
        host = self._host_by_key.get(key)
        if host is not None:
            return host
        pairs = [
            ((join.left_item, join.left_column), (join.right_item, join.right_column))
            for join in parts.equi_joins
        ]
        host = JoinHost(
            _claim(self._host_numbers, number),
            parts.relations,
            parts.equi_joins,
            classes_of(pairs),
            {},
            {},
            None,
        )
        self.hosts[host.number] = host
        self._host_by_key[key] = host
        self._family_numbers[host.number] = Numbers()
        self._nesting.add(host)
        return host

    def _remove_host(self, host: JoinHost) -> None:
        self._nesting.remove(host)
        del self.hosts[host.number], self._host_by_key[_host_key(host)]
        del self._family_numbers[host.number]
        self._host_numbers.release(host.number)

    def _join_family(self, host: JoinHost, body: Body) -> None:
        ranked = rank_theta(body.theta_joins[0]) if body.theta_joins else None
        if ranked is None:
            return
        shape, threshold, closed = ranked
        key = _family_key(body, ranked)
        family = self._family_by_key.get(key)
        if family is None:
            family = new_family(self._family_numbers[host.number].take(), shape)
            self._family_by_key[key] = family
            host.families[family.number] = family
        insert_member(family, body, threshold, closed=closed)
        body.family = family

    def _leave_family(self, host: JoinHost, body: Body) -> None:
        family = body.family
        if family is None:
            return
        ranked = rank_theta(body.theta_joins[0])
        assert ranked is not None
        remove_member(family, body, ranked[1], closed=ranked[2])
        if not family.ranked:
            del self._family_by_key[_family_key(body, ranked)], host.families[family.number]
            self._family_numbers[host.number].release(family.number)


def _claim(numbers: Numbers, number: int | None) -> int:
    if number is None:
        return numbers.take()
    numbers.take_exactly(number)
    return number


def _host_key(parts: Lowered | JoinHost) -> Hashable:
    names = tuple([fold(relation.name) for relation in parts.relations])
    return names, parts.equi_joins


def _body_key(parts: Lowered | Body) -> Hashable:
    if len(parts.relations) == 1 and not parts.rows:
        return intern(fold(parts.relations[0].name)), parts.filters[0]
    names = tuple([fold(relation.name) for relation in parts.relations])
    joins = (parts.equi_joins, parts.theta_joins, parts.residuals)
    return names, parts.filters, joins, parts.bounds, parts.rows, parts.order


def is_body_of(parts: Lowered, body: Body) -> bool:
    """Whether a body asks what the parts of a query ask."""
    return _body_key(parts) == _body_key(body)


def _family_key(body: Body, ranked: Ranked) -> Hashable:
    """Everything but the threshold of the first theta join."""
    host = body.host
    assert host is not None
    rest = (body.theta_joins[1:], body.residuals, body.bounds, body.rows, body.order)
    return host.number, ranked[0], body.filters, rest
