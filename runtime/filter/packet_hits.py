"""The hits of a packet's tuples, gathered column by column for the sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.kernel import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.columns.repeated_text import CodedHits, RepeatedText
    from cqc.runtime.filter.point_index import Hits

_NO_IDS = np.empty(0, np.int32)
_NO_START = np.zeros(1, np.int64)


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


class PacketHits:
    """Which tuples of one packet hit which sparse atoms."""

    def __init__(self, tuples: int, blocks: int) -> None:
        self._tuples = tuples
        self._blocks = blocks
        self._single: list[Hits] = []
        self._codes: list[NDArray[np.int32]] = []
        self._coded: list[CodedHits] = []
        self._values = 0  # codes that are given so far
        self._forms: HitForms | None = None

    def add(self, hits: list[Hits], rows: NDArray[np.int64] | None) -> None:
        """Hits of single tuples; with `rows` they are numbered among those."""
        for tuples, ids in hits:
            if len(tuples):
                own = tuples if rows is None else rows[tuples].astype(np.int32)
                self._single.append((own, ids))
                self._forms = None

    def add_coded(
        self, hits: CodedHits, column: RepeatedText, rows: NDArray[np.int64] | None
    ) -> None:
        """Hits of the distinct values of a column, or of some rows of it."""
        if not len(hits.ids):
            return
        codes = np.empty(len(column), np.int32)
        hits.codes_of(column, self._values, codes)
        if rows is not None:
            some, codes = codes, np.full(self._tuples, -1, np.int32)
            codes[rows] = some
        self._codes.append(codes)
        self._coded.append(hits)
        self._values += len(hits.starts) - 1
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
        if not self._coded:
            return np.empty((0, self._tuples), np.int32), _NO_START, _NO_IDS
        ends, parts = 0, [_NO_START]
        for hits in self._coded:
            parts.append(hits.starts[1:] + ends)
            ends += len(hits.ids)
        codes = np.stack(self._codes)
        return codes, np.concatenate(parts), np.concatenate([each.ids for each in self._coded])


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
    """Compile the kernel that only packets of several blocks need."""
    one = np.zeros(1, np.int32)
    sort_by_block(one, one, 1)
