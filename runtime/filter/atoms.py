"""The atoms of all queries of one filter: who evaluates which, and under what row id.

Single intervals are pairs of cuts (`column_cuts`). Lists of values and text patterns are sparse atoms that report hits
(`point_index`, `text_index`). What is left, expressions and patterns without a literal, is evaluated once for each packet as a mask. Equal
atoms of different queries are one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, assert_never

import numpy as np

from cqc.compiler.diagnostics.record import record
from cqc.compiler.meaning.normal import (
    Atom,
    ElementAtom,
    ExpressionAtom,
    FoldedAtom,
    NetAtom,
    PatternAtom,
    ValueAtom,
)
from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import cut
from cqc.runtime.columns.repeated_text import RepeatedText, Repetition
from cqc.runtime.expressions.compile.compile_expression import (
    Compiled,
    columns_of,
)
from cqc.runtime.expressions.compile.shared_parts import SharedParts
from cqc.runtime.expressions.patterns.like_patterns import Matcher, make_matcher
from cqc.runtime.filter.bits.bit_sweep import EVERY_TUPLE, FIRST_ID, NO_TUPLE
from cqc.runtime.filter.bits.formula_bits import FALSE, TRUE, Leaf
from cqc.runtime.filter.bits.row_ids import SHARED_ATOM, RowIds
from cqc.runtime.filter.column_cuts import ColumnCuts
from cqc.runtime.filter.element_index import ElementIndex, ElementNets, ElementValues
from cqc.runtime.filter.known_texts import KnownTexts
from cqc.runtime.filter.point_index import PointIndex
from cqc.runtime.filter.text_index import FoldedOnce, TextIndex
from cqc.runtime.filter.text_searches import Literal, Other, plan_pattern
from cqc.runtime.filter.text_stretches import text_stretches
from cqc.runtime.filter.value_points import points_of
from cqc.runtime.networks.net_index import NetIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import Value
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.filter.point_index import Hits


@record
class Points:
    """A set of values of a column, as the key of a shared atom."""

    column: int
    values: tuple[Value, ...]
    kind: type  # 1, 1.0 and True are equal values of different columns' types
    folded: bool = (
        False  # texts in lower case, of a column whose texts are folded before they are looked up
    )


@record
class Nets:
    """Networks of a column, as the key of a shared atom."""

    column: int
    nets: tuple[str, ...]


@record
class Elements:
    """What is asked about the elements of a column of arrays, as the key of a shared atom."""

    column: int
    asked: ElementValues | ElementNets | PatternAtom


Sparse = Points | PatternAtom | Nets | Elements
Masked = PatternAtom | ExpressionAtom


class Atoms:
    """Gives row ids to atoms and takes them back; evaluates the sparse and masked ones on packets."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = tuple(types)
        self.ids = RowIds()
        self.cuts: dict[int, ColumnCuts] = {}
        self._points: dict[int, PointIndex] = {}
        self._folded_points: dict[int, PointIndex] = {}
        self._texts: dict[int, TextIndex] = {}
        self._nets: dict[int, NetIndex] = {}
        self._elements: dict[int, ElementIndex] = {}
        self._id_of: dict[Sparse | Masked, int] = {}
        self._atom_of: dict[int, Sparse | Masked] = {}
        self._masks: dict[int, Compiled | Matcher] = {}
        self._parts = SharedParts()
        self._repetition: dict[int, Repetition] = {}
        self._failures_of_gone = 0
        self.known = KnownTexts()

    @property
    def sparse_count(self) -> int:
        return len(self._id_of) - len(self._masks)

    @property
    def nbytes(self) -> int:
        """Memory, about; a shared atom is counted as 400 bytes."""
        held = sum(cuts.nbytes for cuts in self.cuts.values())
        held += sum(points.nbytes for points in self._points.values())
        held += sum(points.nbytes for points in self._folded_points.values())
        held += sum(texts.nbytes for texts in self._texts.values())
        held += sum(nets.nbytes for nets in self._nets.values())
        held += sum(elements.nbytes for elements in self._elements.values())
        return held + self.known.nbytes + 16 * len(self.ids) + 400 * len(self._id_of)

    @property
    def failures(self) -> int:
        """Evaluations of expressions that gave NULL instead of an error."""
        masks = (mask for mask in self._masks.values() if isinstance(mask, Compiled))
        return self._failures_of_gone + sum(mask.failures for mask in masks)

    def leaf(self, atom: Atom) -> Leaf:
        """The rows of an atom, used once more."""
        match atom:
            case ValueAtom():
                return self._value_leaf(atom)
            case PatternAtom():
                return self._pattern_leaf(atom)
            case FoldedAtom():
                return self._folded_leaf(atom)
            case NetAtom():
                return self._net_leaf(atom)
            case ElementAtom():
                return self._element_leaf(atom)
            case ExpressionAtom():
                row_id = self._shared(replace(atom, negated=False))
                return Leaf(((EVERY_TUPLE if atom.negated else NO_TUPLE, row_id),))
            case _:
                assert_never(atom)

    def release(self, row_id: int) -> None:
        """Undo one use of an id by a leaf."""
        if row_id < FIRST_ID:
            return
        column = self.ids.column[row_id]
        if column != SHARED_ATOM:
            self.cuts[column].release(row_id)
        elif self.ids.drop(row_id):
            self._forget(row_id)
            self.ids.free(row_id)

    @property
    def mask_ids(self) -> tuple[int, ...]:
        """The ids of the masked atoms."""
        return tuple(self._masks)

    def masked(self, row_id: int) -> Masked:
        """The atom that is evaluated as a mask under the id."""
        atom = self._atom_of[row_id]
        assert isinstance(atom, PatternAtom | ExpressionAtom)
        return atom

    def hits_of(self, number: int, column: Column) -> list[Hits]:
        """Which tuples hit which sparse atoms of a column, whose values these are."""
        if not column.type.held_as_text:
            points = self._points.get(number)
            return [] if points is None else [points.hits(column)]
        stretches = text_stretches(column)
        if len(stretches) == 1:
            return self._hits_of(number, column)
        hits: list[Hits] = []
        for start, stop in stretches:
            own = cut(column, start, stop)
            hits += [(tuples + np.int32(start), ids) for tuples, ids in self._hits_of(number, own)]
        return hits

    def _hits_of(self, number: int, column: Column) -> list[Hits]:
        points, folded = self._points.get(number), self._folded_points.get(number)
        texts = self._texts.get(number)
        hits = [] if points is None else [points.hits(column)]
        in_lower_case = FoldedOnce(column)
        if folded is not None:
            hits.append(folded.hits(in_lower_case.column))
        if texts is not None:
            hits.append(texts.hits(column, in_lower_case))
        nets = self._nets.get(number)
        if nets is not None:
            hits.append(nets.hits(column))
        elements = self._elements.get(number)
        if elements is not None:
            hits.append(elements.hits(column))
        return hits

    def mask(
        self, row_id: int, columns: Callable[[int], Column], count: int, made: dict[int, Column]
    ) -> NDArray[np.bool_]:
        """Where a masked atom is TRUE, over so many tuples with these columns; `made` has the parts of conditions over them so far."""
        mask = self._masks[row_id]
        if isinstance(mask, Compiled):
            return mask.is_true(self._parts.source(columns, count, made), count)
        atom = self.masked(row_id)
        assert isinstance(atom, PatternAtom)
        column = columns(atom.column)
        if isinstance(column, RepeatedText) and len(column.distinct) < count:
            matched: NDArray[np.bool_] = mask.run(column.distinct)[column.codes]
        else:
            matched = mask.run(column.values)
        return matched if column.valid is None else matched & column.valid

    def encoded(self, number: int, column: Column) -> Column:
        """A column of a packet by its distinct values, where text repeats."""
        if self._types[number] is not ColumnType.STRING:
            return column
        return self._repetition.setdefault(number, Repetition()).encode(column)

    def columns_read(self) -> set[int]:
        """The columns that some atom is about."""
        found = set(self.cuts)
        for atom in self._atom_of.values():
            if isinstance(atom, ExpressionAtom):
                found |= columns_of(atom.expression)
            else:
                found.add(atom.column)
        return found

    def columns_of_ids(self) -> NDArray[np.int64]:
        """By row id, the column whose grouped filter it belongs to; -1 for masks and the fixed rows."""
        columns = np.array(self.ids.column, np.int64)
        for row_id, atom in self._atom_of.items():
            columns[row_id] = -1 if isinstance(atom, ExpressionAtom) else atom.column
        columns[list(self._masks)] = -1
        return columns

    def _cuts(self, column: int) -> ColumnCuts:
        if column not in self.cuts:
            self.cuts[column] = ColumnCuts(column, self._types[column], self.ids)
        return self.cuts[column]

    def _value_leaf(self, atom: ValueAtom) -> Leaf:
        cuts = self.cuts.get(atom.column) or self._cuts(atom.column)
        if len(atom.intervals) == 1 and not atom.matches_null and not cuts.is_text:
            # The usual atom, a comparison with a number, by the shortest way.
            only = atom.intervals[0]
            is_point = only.low is not None and only.low == only.high
            return Leaf((cuts.pair(only),), None, is_point, of_cuts=True)
        null = ((EVERY_TUPLE, cuts.end),) if atom.matches_null else ()
        listed = points_of(self._types[atom.column], atom.intervals)
        if listed is None:
            pairs = (*(cuts.pair(interval) for interval in atom.intervals), *null)
            if not pairs:
                return FALSE
            return Leaf(pairs, of_cuts=not null)
        row_id = self._shared(Points(atom.column, listed.values, type(listed.values[0])))
        base = (cuts.end, row_id) if listed.complement else (row_id, NO_TUPLE)
        return Leaf((base, *null), None if listed.complement or null else row_id)

    def _folded_leaf(self, atom: FoldedAtom) -> Leaf:
        points = Points(atom.column, atom.texts, str, folded=True)
        return self._sparse_leaf(atom, self._shared(points))

    def _net_leaf(self, atom: NetAtom) -> Leaf:
        return self._sparse_leaf(atom, self._shared(Nets(atom.column, atom.nets)))

    def _element_leaf(self, atom: ElementAtom) -> Leaf:
        asked = self._asked_of_elements(atom)
        if asked is None:
            return self.leaf(ExpressionAtom(atom.expression, atom.negated))
        self._cuts(atom.column)  # its tuples are looked at
        row_id = self._shared(Elements(atom.column, asked))
        if atom.negated:
            return Leaf(((EVERY_TUPLE, row_id),))
        return Leaf(((row_id, NO_TUPLE),), row_id)

    def _asked_of_elements(
        self, atom: ElementAtom
    ) -> ElementValues | ElementNets | PatternAtom | None:
        """What an index of elements is asked; None where a pattern has no literal to look for."""
        match atom.element:
            case PatternAtom() as element:
                plan = plan_pattern(element.kind, element.pattern, element.escape)
                return element if isinstance(plan, Literal) else None
            case FoldedAtom() as element:
                return ElementValues(element.texts, str, folded=True)
            case NetAtom() as element:
                return ElementNets(element.nets)
            case ValueAtom() as element:
                listed = points_of(element.type, element.intervals)
                if listed is None or listed.complement:
                    values = tuple(each.low for each in element.intervals if each.low is not None)
                    return ElementValues(values, type(values[0]))
                return ElementValues(listed.values, type(listed.values[0]))

    def _sparse_leaf(self, atom: FoldedAtom | NetAtom, row_id: int) -> Leaf:
        end = self._cuts(atom.column).end
        if atom.negated:
            return Leaf(((EVERY_TUPLE if atom.matches_null else end, row_id),))
        null = ((EVERY_TUPLE, end),) if atom.matches_null else ()
        return Leaf(((row_id, NO_TUPLE), *null), None if null else row_id)

    def _pattern_leaf(self, atom: PatternAtom) -> Leaf:
        plan = plan_pattern(atom.kind, atom.pattern, atom.escape)
        end = self._cuts(atom.column).end
        if not (atom.negated or atom.matches_null) and type(plan) is Literal:
            # The usual atom of a rule, by the shortest way.
            row_id = self._shared(atom)
            return Leaf(((row_id, NO_TUPLE),), row_id)
        null = ((EVERY_TUPLE, end),) if atom.matches_null else ()
        match plan:
            case Other.NO_TEXT:  # its evaluation fails: NULL, negated or not
                return TRUE if atom.matches_null else FALSE
            case Other.EVERY_TEXT:
                every = () if atom.negated else ((end, NO_TUPLE),)
                return Leaf((*every, *null)) if every or null else FALSE
            case Other.RUN | Literal():
                row_id = self._shared(_unsigned(atom))
        if atom.negated:
            return Leaf(((EVERY_TUPLE if null else end, row_id),))
        guard = row_id if isinstance(plan, Literal) and not null else None
        return Leaf(((row_id, NO_TUPLE), *null), guard)

    def _shared(self, atom: Sparse | Masked) -> int:
        row_id = self._id_of.get(atom)
        if row_id is not None:
            self.ids.uses[row_id] += 1
            return row_id
        row_id = self._id_of[atom] = self.ids.take()
        self._atom_of[row_id] = atom
        match atom:
            case PatternAtom():
                self._add_pattern(row_id, atom)
            case Points():
                indexes = self._folded_points if atom.folded else self._points
                index = indexes.get(atom.column)
                if index is None:
                    index = indexes[atom.column] = PointIndex(self._types[atom.column])
                index.add(row_id, atom.values)
            case Nets():
                self._nets.setdefault(atom.column, NetIndex()).add(row_id, atom.nets)
            case Elements():
                elements = self._elements.get(atom.column)
                if elements is None:
                    elements = ElementIndex(self._types[atom.column])
                    self._elements[atom.column] = elements
                elements.add(row_id, atom.asked)
            case ExpressionAtom():
                self._masks[row_id] = self._parts.use(atom.expression)
        return row_id

    def _add_pattern(self, row_id: int, atom: PatternAtom) -> None:
        plan = plan_pattern(atom.kind, atom.pattern, atom.escape)
        if isinstance(plan, Literal):
            index = self._texts.get(atom.column)
            if index is None:
                index = self._texts[atom.column] = TextIndex()
            index.add(row_id, atom, plan)
        else:
            self._masks[row_id] = make_matcher(atom.kind, atom.pattern, atom.escape)

    def _forget(self, row_id: int) -> None:
        atom = self._atom_of.pop(row_id)
        del self._id_of[atom]
        mask = self._masks.pop(row_id, None)
        if mask is not None:
            self._failures_of_gone += mask.failures if isinstance(mask, Compiled) else 0
            if isinstance(atom, ExpressionAtom):
                self._parts.release(atom.expression)
            return
        match atom:
            case Points():
                indexes = self._folded_points if atom.folded else self._points
                indexes[atom.column].remove(row_id, atom.values)
            case Nets():
                self._nets[atom.column].remove(row_id)
            case Elements():
                self._elements[atom.column].remove(row_id, atom.asked)
            case PatternAtom():
                self._texts[atom.column].remove(row_id, atom)
            case ExpressionAtom():
                pass


def _unsigned(atom: PatternAtom) -> PatternAtom:
    """The pattern that an atom and its opposite share."""
    if not atom.negated and not atom.matches_null:
        return atom
    return PatternAtom(atom.column, atom.kind, atom.pattern, atom.escape, negated=False)
