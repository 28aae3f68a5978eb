"""The hits of a packet's tuples, gathered column by column for the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.known_texts import TextsFound
    from cqc.runtime.filter.point_index import Hits

_NO_IDS = np.empty(0, np.int32)
_NO_START = np.zeros(1, np.int64)
_NO_CODES = np.empty((0, 0), np.int32)
_FEW_HITS = 8  # of so many rows one hit something, or fewer: then by themselves


class HitForms(NamedTuple):
    """The hits as kernels take them (`hit_kernels.Marked`)."""

    tuples: NDArray[np.int32]
    ids: NDArray[np.int32]
    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    code_ids: NDArray[np.int32]

    @property
    def most_rows(self) -> int:
        """No block has hits of more atoms."""
        single = int(np.bincount(self.tuples >> 9).max()) if len(self.tuples) else 0
        return single + len(self.code_ids)


_NO_HITS = HitForms(_NO_IDS, _NO_IDS, _NO_CODES, _NO_START, _NO_IDS)


class PacketHits:
    """Which tuples of one packet hit which sparse atoms."""

    def __init__(self, tuples: int, blocks: int) -> None:
        self._tuples = tuples
        self._blocks = blocks
        self._single: list[Hits] = []
        self._codes: list[NDArray[np.int32]] = []
        self._ends: list[NDArray[np.int64]] = []  # of the atoms of each code, column by column
        self._ids: list[NDArray[np.int32]] = []
        self._values = 0  # codes that are given so far
        self._forms: HitForms | None = _NO_HITS

    def add(self, hits: list[Hits], rows: NDArray[np.int64] | None) -> None:
        """Hits of single tuples; with `rows` they are numbered among those."""
        for tuples, ids in hits:
            if len(tuples):
                own = tuples if rows is None else rows[tuples].astype(np.int32)
                self._single.append((own, ids))
                self._forms = None

    def add_known(self, found: TextsFound, rows: NDArray[np.int64] | None) -> None:
        """Hits of the texts of a column, or of some rows of it, by what is known of each text.

        Much more may be known than this packet has: texts that are here and hit something get numbers of their own. Where few rows
        hit anything, looking at every row of each block costs more than these hits by themselves.
        """
        if not len(found.ids):
            return
        known = len(found.starts) - 1
        codes = np.empty(len(found.numbers), np.int32)
        chosen = np.empty(min(len(codes), known), np.int32)
        count, hits, pairs = codes_that_hit(
            found.numbers, found.starts, known, self._values, codes, chosen
        )
        if not count:
            return
        if pairs * _FEW_HITS <= self._tuples:
            tuples, single = np.empty(pairs, np.int32), np.empty(pairs, np.int32)
            single_hits(found.numbers, found.starts, found.ids, tuples, single)
            self.add([(tuples, single)], rows)
            return
        if rows is not None:
            some, codes = codes, np.full(self._tuples, -1, np.int32)
            codes[rows] = some
        ends, ids = np.empty(count, np.int64), np.empty(hits, np.int32)
        gather_hits(found.starts, found.ids, chosen[:count], ends, ids)
        self._codes.append(codes)
        self._ends.append(ends)
        self._ids.append(ids)
        self._values += count
        self._forms = None

    def forms(self) -> HitForms:
        """All hits so far."""
        if self._forms is None:
            tuples, ids = self._by_block()
            codes, starts, code_ids = self._by_code()
            self._forms = HitForms(tuples, ids, codes, starts, code_ids)
        return self._forms

    def _by_block(self) -> Hits:
        if not self._single:
            return _NO_IDS, _NO_IDS
        tuples = np.concatenate([each[0] for each in self._single])
        ids = np.concatenate([each[1] for each in self._single])
        return sort_by_block(tuples, ids, self._blocks) if self._blocks > 1 else (tuples, ids)

    def _by_code(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32]]:
        if not self._codes:
            return _NO_CODES, _NO_START, _NO_IDS
        before, parts = 0, [_NO_START]
        for ends, ids in zip(self._ends, self._ids, strict=True):
            parts.append(ends + before)
            before += len(ids)
        return np.stack(self._codes), np.concatenate(parts), np.concatenate(self._ids)


@njit(cache=True, nogil=True)
def codes_that_hit(numbers, starts, known, first, codes, chosen):  # type: ignore[no-untyped-def]
    """The code of each row, counted from `first`, where its text hits something; else -1.

    `chosen` becomes the numbers of those texts; returns how many they are, how many atoms they hit, and how many the rows do.
    """
    places = np.full(known, -1, np.int32)
    count = hits = pairs = 0
    for row in range(len(numbers)):
        codes[row] = -1
        number = numbers[row]
        if number < 0 or starts[number] == starts[number + 1]:
            continue
        if places[number] < 0:
            places[number] = count
            chosen[count] = number
            count += 1
            hits += starts[number + 1] - starts[number]
        codes[row] = places[number] + first
        pairs += starts[number + 1] - starts[number]
    return count, hits, pairs


@njit(cache=True, nogil=True)
def single_hits(numbers, starts, ids, tuples, out):  # type: ignore[no-untyped-def]
    """Each row with each atom that its text hits."""
    written = 0
    for row in range(len(numbers)):
        number = numbers[row]
        if number < 0:
            continue
        for place in range(starts[number], starts[number + 1]):
            tuples[written], out[written] = row, ids[place]
            written += 1


@njit(cache=True, nogil=True)
def gather_hits(starts, ids, chosen, ends, out):  # type: ignore[no-untyped-def]
    """The atoms of some texts behind each other, and where those of each end."""
    written = 0
    for at in range(len(chosen)):
        for place in range(starts[chosen[at]], starts[chosen[at] + 1]):
            out[written] = ids[place]
            written += 1
        ends[at] = written


@njit(cache=True, nogil=True)
def sort_by_block(tuples, ids, blocks):  # type: ignore[no-untyped-def]
    """Hits in the order of their blocks of tuples."""
    starts = np.zeros(blocks + 1, np.int64)
    for at in range(len(tuples)):
        starts[(tuples[at] >> 9) + 1] += 1
    for block in range(1, blocks + 1):
        starts[block] += starts[block - 1]
    out_tuples, out_ids = np.empty(len(tuples), np.int32), np.empty(len(tuples), np.int32)
    for at in range(len(tuples)):
        place = starts[tuples[at] >> 9]
        out_tuples[place], out_ids[place] = tuples[at], ids[at]
        starts[tuples[at] >> 9] += 1
    return out_tuples, out_ids


def warm() -> None:
    """Compile the kernels."""
    one, ends = np.zeros(1, np.int32), np.zeros(1, np.int64)
    sort_by_block(one, one, 1)
    codes_that_hit(one, np.array([0, 1]), 1, 0, one.copy(), one.copy())
    gather_hits(np.array([0, 1]), one, one, ends, one.copy())
    single_hits(one, np.array([0, 1]), one, one.copy(), one.copy())
