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

from cqc.compiler.meaning.bound import PatternKind
from cqc.runtime.columns.columns import Column
from cqc.runtime.expressions.patterns.like_kernels import check_likes, like_codes
from cqc.runtime.expressions.patterns.like_patterns import (
    lower,
    lower_texts,
    make_matcher,
    parse_like,
)
from cqc.runtime.filter.literal_search import LiteralSearch, together
from cqc.runtime.filter.text_searches import Literal, Place, plan_pattern
from cqc.runtime.state.lanes import text_buffers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.normal import PatternAtom
    from cqc.runtime.expressions.patterns.like_patterns import Matcher
    from cqc.runtime.filter.point_index import Hits


class FoldedOnce:
    """The texts of a column in lower case, made when first asked for: lists and patterns share them."""

    def __init__(self, column: Column) -> None:
        self._whole = column

    @cached_property
    def column(self) -> Column:
        """The folded texts."""
        return Column(self._whole.type, lower_texts(self._whole.values), self._whole.valid)


class LikeChecks:
    """LIKE patterns that decide about candidates, all in the same texts: as they are, or in lower case."""

    def __init__(self) -> None:
        self._codes: dict[int, NDArray[np.int16]] = {}  # by atom
        self._packed: tuple[NDArray[Any], NDArray[Any], NDArray[Any]] | None = None

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, atom: int, pattern: PatternAtom) -> None:
        """Have the pattern decide about the candidates of the atom."""
        tokens = parse_like(pattern.pattern, pattern.escape)
        assert tokens is not None  # it has a literal, so it was taken apart before
        if pattern.kind is PatternKind.ILIKE:
            tokens = tuple(lower(token) if isinstance(token, str) else token for token in tokens)
        self._codes[atom] = like_codes(tokens)
        self._packed = None

    def remove(self, atom: int) -> None:
        """Undo `add`; nothing for an atom that is not here."""
        if self._codes.pop(atom, None) is not None:
            self._packed = None

    def has(self, atoms: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Which of some atoms are decided here."""
        return np.isin(atoms, self._pack()[0])

    def agreed(self, texts: Any, hits: Hits) -> Hits:
        """Of the candidates, those that match."""
        atoms, codes, starts = self._pack()
        # A literal that is in a text several times makes it a candidate as often.
        pairs = np.unique((hits[1].astype(np.int64) << 32) | hits[0])
        candidates, wanted = pairs & 0xFFFFFFFF, (pairs >> 32).astype(np.int32)
        agrees = np.empty(len(pairs), np.bool_)
        offsets, data = text_buffers(texts)
        patterns = np.searchsorted(atoms, wanted)
        check_likes(offsets, data, candidates, patterns, codes, starts, agrees)
        return candidates[agrees].astype(np.int32), wanted[agrees]

    def _pack(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The atoms in order, their codes behind each other, and where those of each begin."""
        if self._packed is None:
            atoms = np.array(sorted(self._codes), np.int32)
            codes = [self._codes[atom] for atom in atoms.tolist()]
            starts = np.concatenate([[0], np.cumsum([len(each) for each in codes])])
            joined = np.concatenate(codes) if codes else np.empty(0, np.int16)
            self._packed = atoms, joined, starts.astype(np.int64)
        return self._packed


class TextIndex:
    """The patterns of one column that contain a literal."""

    def __init__(self) -> None:
        self._plain = LiteralSearch()
        self._folded = LiteralSearch()
        # The patterns that decide about candidates: regular expressions by atom, and the others.
        self._checks: dict[int, Matcher] = {}
        self._plain_likes, self._folded_likes = LikeChecks(), LikeChecks()
        self._folded_atoms = 0
        self._plain_atoms = 0

    @property
    def nbytes(self) -> int:
        checks = len(self._checks) + len(self._plain_likes) + len(self._folded_likes)
        return self._plain.nbytes + self._folded.nbytes + 500 * checks

    def add(self, atom: int, pattern: PatternAtom, plan: Literal) -> None:
        """Report texts that match the pattern as hits of the atom (whether it is negated or not)."""
        (self._folded if plan.folded else self._plain).add(plan.text, plan.place, atom)
        self._folded_atoms += plan.folded
        self._plain_atoms += not plan.folded
        if plan.place is not Place.CANDIDATE:
            return
        if pattern.kind is PatternKind.RLIKE:
            self._checks[atom] = make_matcher(pattern.kind, pattern.pattern, pattern.escape)
        else:
            (self._folded_likes if plan.folded else self._plain_likes).add(atom, pattern)

    def remove(self, atom: int, pattern: PatternAtom) -> None:
        """Undo `add`."""
        plan = plan_pattern(pattern.kind, pattern.pattern, pattern.escape)
        assert isinstance(plan, Literal)
        (self._folded if plan.folded else self._plain).remove(plan.text, plan.place, atom)
        self._folded_atoms -= plan.folded
        self._plain_atoms -= not plan.folded
        self._checks.pop(atom, None)
        self._plain_likes.remove(atom)
        self._folded_likes.remove(atom)

    def hits(self, column: Column, in_lower_case: FoldedOnce) -> Hits:
        """Which tuples hit which atoms; NULL hits none."""
        found: list[Hits] = []
        if self._plain_atoms:
            found += self._search(self._plain, self._plain_likes, column.values, column.values)
        if self._folded_atoms:
            folded = in_lower_case.column.values
            found += self._search(self._folded, self._folded_likes, folded, column.values)
        tuples, atoms = together(found)
        if column.valid is None:
            return tuples, atoms
        there = column.valid[tuples]
        return tuples[there], atoms[there]

    def _search(
        self, search: LiteralSearch, likes: LikeChecks, searched: Any, texts: Any
    ) -> list[Hits]:
        sure, (tuples, atoms) = search.hits(searched)
        found = [sure]
        if len(likes) and len(atoms):
            here = likes.has(atoms)
            found.append(likes.agreed(searched, (tuples[here], atoms[here])))
            tuples, atoms = tuples[~here], atoms[~here]
        # A loop over regular expressions that have candidates in this packet, not over patterns or tuples.
        order = np.argsort(atoms, kind="stable")
        tuples, atoms = tuples[order], atoms[order]
        distinct, starts = np.unique(atoms, return_index=True)
        for atom, group in zip(distinct.tolist(), np.split(tuples, starts[1:]), strict=False):
            candidates = np.unique(group)
            agreed = candidates[self._checks[atom].run(texts.take(pa.array(candidates)))]
            found.append((agreed, np.full(len(agreed), atom, np.int32)))
        return found


def warm() -> None:
    """Compile the kernels of `like_kernels`."""
    from cqc.compiler.meaning.normal import PatternAtom

    checks = LikeChecks()
    checks.add(2, PatternAtom(0, PatternKind.LIKE, "%a_c%", "\\", negated=False))
    checks.agreed(pa.array(["abc", None]), (np.zeros(1, np.int32), np.full(1, 2, np.int32)))
