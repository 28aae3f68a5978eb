"""Text patterns of all queries over one column, searched at once.

The literals of all patterns form one automaton (Aho and Corasick), which reads the texts of a packet once, however many
patterns there are. The texts lie one after another in one buffer, so it is one call a packet; an occurrence that crosses from
one text into the next is none. What an occurrence means depends on the patterns that use the literal (`text_patterns.Place`).

An automaton cannot grow. New literals make a small one of their own, and automata of like size are merged, so that each
literal is built into few of them and the texts are read by few (a log-structured merge).

    literals  disk  err      patterns  7: '%disk%'  8: 'err%'  9: RLIKE 'disk [0-9]+'
    text      err: disk 4    err at the start -> 8     disk -> 7, and candidate for 9, which agrees
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import ahocorasick_rs
import numpy as np
import pyarrow as pa

from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.like_patterns import lower_texts, make_matcher
from cqc.runtime.filter.linked_lists import AtomLists
from cqc.runtime.filter.text_searches import Literal, Place, plan_pattern
from cqc.runtime.state.lanes import text_buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import PatternAtom
    from cqc.runtime.expressions.like_patterns import Matcher
    from cqc.runtime.filter.point_index import Hits

_PLACES = len(Place)
_MERGE_RATIO = 8
_MOST_FAST_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Level:
    """An automaton and the literals in it."""

    automaton: Any
    literals: NDArray[np.int32]


class LiteralSearch:
    """Occurrences of many literals in the texts of a column; each literal has a list of atoms for every place."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._texts: list[bytes] = []
        self._lists = AtomLists()
        self._waiting: list[int] = []
        self._levels: list[Level] = []

    @property
    def nbytes(self) -> int:
        """Memory, about; automata take some hundred bytes for each byte of literal."""
        return self._lists.nbytes + sum(200 * len(text) + 200 for text in self._texts)

    def add(self, literal: str, place: Place, atom: int) -> None:
        """Report occurrences of the literal at the place as hits of the atom."""
        key = literal.encode()
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._texts)
            self._texts.append(key)
            self._waiting.append(number)
            for _ in range(_PLACES):
                self._lists.new_list()
        self._lists.add(number * _PLACES + place.value, atom)

    def remove(self, literal: str, place: Place, atom: int) -> None:
        """Undo `add`. A literal without atoms stays until there are many of them."""
        self._lists.remove(self._numbers[literal.encode()] * _PLACES + place.value, atom)
        if len(self._texts) > max(64, 2 * self._lists.lists_in_use):
            self._purge()

    def hits(self, texts: Any) -> tuple[Hits, Hits]:
        """Hits that are certain, and candidates."""
        self._settle()
        offsets, data = text_buffers(texts)
        first, last = int(offsets[0]), int(offsets[-1])
        haystack = memoryview(data.data)[first:last]
        sure: list[Hits] = []
        maybe: list[Hits] = []
        for level in self._levels if last > first else ():
            matches = level.automaton.find_matches_as_indexes(haystack, overlapping=True)
            if matches:
                flat = np.fromiter(chain.from_iterable(matches), np.int64, 3 * len(matches))
                self._place(flat.reshape(-1, 3), level.literals, offsets - first, sure, maybe)
        return _together(sure), _together(maybe)

    def _place(
        self,
        matches: NDArray[np.int64],
        literals: NDArray[np.int32],
        offsets: NDArray[np.int64],
        sure: list[Hits],
        maybe: list[Hits],
    ) -> None:
        """Find out in which text each match is, and where in it."""
        tuples = np.searchsorted(offsets, matches[:, 1], side="right") - 1
        inside = matches[:, 2] <= offsets[tuples + 1]
        matches, tuples = matches[inside], tuples[inside]
        at_start = matches[:, 1] == offsets[tuples]
        at_end = matches[:, 2] == offsets[tuples + 1]
        lists = literals[matches[:, 0]] * np.int32(_PLACES)
        rows = tuples.astype(np.int32)
        holds = {Place.START: at_start, Place.END: at_end, Place.WHOLE: at_start & at_end}
        for place, where in holds.items():
            sure.append(self._lists.spread(rows[where], lists[where] + np.int32(place.value)))
        sure.append(self._lists.spread(rows, lists + np.int32(Place.ANYWHERE.value)))
        maybe.append(self._lists.spread(rows, lists + np.int32(Place.CANDIDATE.value)))

    def _settle(self) -> None:
        """Build an automaton of the new literals, with those of levels that are not much larger."""
        if not self._waiting:
            return
        numbers, self._waiting = self._waiting, []
        while self._levels and len(self._levels[-1].literals) < _MERGE_RATIO * len(numbers):
            numbers = self._levels.pop().literals.tolist() + numbers
        texts = [self._texts[number] for number in numbers]
        self._levels.append(Level(_automaton(texts), np.array(numbers, np.int32)))

    def _purge(self) -> None:
        """Start again with the literals that have atoms."""
        kept = [
            (text, place, self._lists.members(number * _PLACES + place.value))
            for text, number in self._numbers.items()
            for place in Place
        ]
        self.__init__()  # type: ignore[misc]  # the empty state
        for text, place, atoms in kept:
            for atom in atoms:
                self.add(text.decode(), place, atom)


def _automaton(texts: list[bytes]) -> Any:
    """The fastest kind searches three times as fast as the package's choice, at some hundred bytes a byte of literal."""
    small = sum(map(len, texts)) <= _MOST_FAST_BYTES
    kind = ahocorasick_rs.Implementation.DFA if small else None
    return ahocorasick_rs.BytesAhoCorasick(texts, implementation=kind)


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
        tuples, atoms = _together(found)
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


def _together(hits: list[Hits]) -> Hits:
    if not hits:
        return np.empty(0, np.int32), np.empty(0, np.int32)
    return np.concatenate([each[0] for each in hits]), np.concatenate([each[1] for each in hits])
