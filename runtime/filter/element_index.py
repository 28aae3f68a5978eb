"""Any-element questions of all queries over one column of arrays: the elements of a packet are looked up as one column.

What elements are asked about (values, texts, nets) is indexed as for columns; a tuple hits what some of its elements hit.

    atom 7: some element = 'x'    atom 8: some element ILIKE '%y%'
    [a, x] [] [xy, y]             elements a x xy y hit - 7 8 8, tuples (0, 7) (2, 8)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cqc.compiler.meaning.types import ArrayType
from cqc.runtime.columns.nested import column_of_inner, nested_of, offsets_of
from cqc.runtime.filter.point_index import PointIndex
from cqc.runtime.filter.text_index import FoldedOnce, TextIndex
from cqc.runtime.filter.text_searches import Literal, plan_pattern
from cqc.runtime.networks.net_index import NetIndex

if TYPE_CHECKING:
    from cqc.compiler.meaning.normal import PatternAtom, Value
    from cqc.compiler.meaning.types import ColumnType
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.filter.point_index import Hits


@dataclass(frozen=True, slots=True)
class ElementValues:
    """Values that an element may equal; `folded`: in lower case."""

    values: tuple[Value, ...]
    kind: type
    folded: bool = False


@dataclass(frozen=True, slots=True)
class ElementNets:
    """Nets that an element may be an address in."""

    nets: tuple[str, ...]


class ElementIndex:
    """What all queries ask about the elements of one column."""

    def __init__(self, type_: ColumnType) -> None:
        assert isinstance(type_, ArrayType)
        self._type = type_.element
        self._points = PointIndex(self._type)
        self._folded = PointIndex(self._type)
        self._texts = TextIndex()
        self._nets = NetIndex()
        self._uses = dict.fromkeys(("points", "folded", "texts", "nets"), 0)

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return self._points.nbytes + self._folded.nbytes + self._texts.nbytes + self._nets.nbytes

    def add(self, atom: int, asked: ElementValues | ElementNets | PatternAtom) -> None:
        """Make elements of which this is TRUE hit the atom."""
        match asked:
            case ElementValues():
                (self._folded if asked.folded else self._points).add(atom, asked.values)
                self._uses["folded" if asked.folded else "points"] += 1
            case ElementNets():
                self._nets.add(atom, asked.nets)
                self._uses["nets"] += 1
            case _:
                plan = plan_pattern(asked.kind, asked.pattern, asked.escape)
                assert isinstance(plan, Literal)
                self._texts.add(atom, asked, plan)
                self._uses["texts"] += 1

    def remove(self, atom: int, asked: ElementValues | ElementNets | PatternAtom) -> None:
        """Undo `add`."""
        match asked:
            case ElementValues():
                (self._folded if asked.folded else self._points).remove(atom, asked.values)
                self._uses["folded" if asked.folded else "points"] -= 1
            case ElementNets():
                self._nets.remove(atom)
                self._uses["nets"] -= 1
            case _:
                self._texts.remove(atom, asked)
                self._uses["texts"] -= 1

    def hits(self, column: Column) -> Hits:
        """Which tuples hit which atoms, each pair once."""
        nested = nested_of(column)
        offsets = offsets_of(nested)
        elements = column_of_inner(self._type, nested.flatten())
        lower = FoldedOnce(elements)
        found: list[Hits] = []
        if self._uses["points"]:
            found.append(self._points.hits(elements))
        if self._uses["folded"]:
            found.append(self._folded.hits(lower.column))
        if self._uses["texts"]:
            found.append(self._texts.hits(elements, lower))
        if self._uses["nets"]:
            found.append(self._nets.hits(elements))
        places = np.concatenate([each[0] for each in found]) if found else np.empty(0, np.int32)
        atoms = np.concatenate([each[1] for each in found]) if found else np.empty(0, np.int32)
        if not len(places):
            return places.astype(np.int32), atoms.astype(np.int32)
        tuples = np.searchsorted(offsets, places, side="right") - 1
        pairs = np.unique((tuples.astype(np.int64) << 32) | atoms.astype(np.int64))
        return (pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32)
