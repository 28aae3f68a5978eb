"""A constant on one side of an equi-join holds on the other side too.

    R.a = S.a AND R.a IN (5, 7)      S.a IN (5, 7) as well: tuples of S with another value are not kept

What joins is equal and not NULL, so the values that one column may have are those of every column it equals. Columns must be
of one type: BIGINT that meets DOUBLE is compared as DOUBLE, where one number stands for several.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cqc.compiler.meaning.normal import ValueAtom

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cqc.compiler.meaning.bound import Item
    from cqc.compiler.meaning.normal import EquiJoin, Formula

Place = tuple[int, int]


def carry_constants(
    items: Sequence[Item], equi_joins: Sequence[EquiJoin], attributes: list[list[Formula]]
) -> None:
    """Add to the conditions of each item the constants of columns that its columns equal."""
    edges = [ends for join in equi_joins if (ends := _same_type(items, join)) is not None]
    known = {
        (item, part.column): part
        for item, parts in enumerate(attributes)
        for part in parts
        if isinstance(part, ValueAtom) and _is_constant(part)
    }
    given = set(known)
    waiting = list(known)
    while waiting and edges:
        place = waiting.pop()
        for left, right in edges:
            other = right if place == left else left if place == right else None
            if other is not None and other not in known:
                known[other] = replace(known[place], column=other[1], matches_null=False)
                waiting.append(other)
            elif other is not None and other in given and known[other] != known[place]:
                # Both sides have constants: each is carried, and what they leave is common to both.
                carried = replace(known[place], column=other[1], matches_null=False)
                if carried not in attributes[other[0]]:
                    attributes[other[0]].append(carried)
    for (item, _), atom in known.items():
        if atom not in attributes[item]:
            attributes[item].append(atom)


def _same_type(items: Sequence[Item], join: EquiJoin) -> tuple[Place, Place] | None:
    left, right = (join.left_item, join.left_column), (join.right_item, join.right_column)
    types = [items[item].relation.columns[column].type for item, column in (left, right)]
    return (left, right) if types[0] is types[1] else None


def _is_constant(atom: ValueAtom) -> bool:
    return bool(atom.intervals) and all(
        each.low is not None and each.low == each.high for each in atom.intervals
    )
