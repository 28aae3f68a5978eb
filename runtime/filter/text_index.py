"""Text patterns of all queries over one column, searched at once.

The literals of all patterns are looked for together (`literal_search`), however many patterns there are, once in the texts as they
are and once in the texts in lower case. What an occurrence means depends on the patterns that use the literal
(`text_searches.Place`).

    literals  disk  err      patterns  7: '%disk%'  8: 'err%'  9: RLIKE 'disk [0-9]+'
    text      err: disk 4    err at the start -> 8     disk -> 7, and candidate for 9, which agrees
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.like_patterns import lower_texts, make_matcher
from cqc.runtime.filter.literal_search import LiteralSearch, together
from cqc.runtime.filter.text_searches import Literal, Place, plan_pattern

if TYPE_CHECKING:
    from cqc.compiler.meaning.normal import PatternAtom
    from cqc.runtime.expressions.like_patterns import Matcher
    from cqc.runtime.filter.point_index import Hits


class FoldedOnce:
    """The texts of a column in lower case, made when first asked for: lists and patterns share them."""

    def __init__(self, column: Column) -> None:
        self._whole = column

    @cached_property
    def column(self) -> Column:
        """The folded texts."""
        return Column(self._whole.type, lower_texts(self._whole.values), self._whole.valid)


class TextIndex:
    """The patterns of one column that contain a literal."""

    def __init__(self) -> None:
        self._plain = LiteralSearch()
        self._folded = LiteralSearch()
        self._checks: dict[int, Matcher] = {}  # by atom, the patterns that decide about candidates
        self._folded_atoms = 0
        self._plain_atoms = 0

    @property
    def nbytes(self) -> int:
        return self._plain.nbytes + self._folded.nbytes + 500 * len(self._checks)

    def add(self, atom: int, pattern: PatternAtom, plan: Literal) -> None:
        """Report texts that match the pattern as hits of the atom (whether it is negated or not)."""
        (self._folded if plan.folded else self._plain).add(plan.text, plan.place, atom)
        self._folded_atoms += plan.folded
        self._plain_atoms += not plan.folded
        if plan.place is Place.CANDIDATE:
            self._checks[atom] = make_matcher(pattern.kind, pattern.pattern, pattern.escape)

    def remove(self, atom: int, pattern: PatternAtom) -> None:
        """Undo `add`."""
        plan = plan_pattern(pattern.kind, pattern.pattern, pattern.escape)
        assert isinstance(plan, Literal)
        (self._folded if plan.folded else self._plain).remove(plan.text, plan.place, atom)
        self._folded_atoms -= plan.folded
        self._plain_atoms -= not plan.folded
        self._checks.pop(atom, None)

    def hits(self, column: Column, in_lower_case: FoldedOnce) -> Hits:
        """Which tuples hit which atoms; NULL hits none."""
        found: list[Hits] = []
        if self._plain_atoms:
            found += self._search(self._plain, column.values, column.values)
        if self._folded_atoms:
            found += self._search(self._folded, in_lower_case.column.values, column.values)
        tuples, atoms = together(found)
        if column.valid is None:
            return tuples, atoms
        there = column.valid[tuples]
        return tuples[there], atoms[there]

    def _search(self, search: LiteralSearch, searched: Any, texts: Any) -> list[Hits]:
        sure, (tuples, atoms) = search.hits(searched)
        found = [sure]
        # A loop over patterns that have candidates in this packet, not over patterns or tuples.
        order = np.argsort(atoms, kind="stable")
        tuples, atoms = tuples[order], atoms[order]
        distinct, starts = np.unique(atoms, return_index=True)
        for atom, group in zip(distinct.tolist(), np.split(tuples, starts[1:]), strict=False):
            candidates = np.unique(group)
            agreed = candidates[self._checks[atom].run(texts.take(pa.array(candidates)))]
            found.append((agreed, np.full(len(agreed), atom, np.int32)))
        return found
