"""Numbers for texts, in the order of the texts, so that MIN and MAX of texts are those of numbers.

A text that comes gets a number between those of its neighbours; the numbers that are given stay. Only where there is no
room left between two neighbours all numbers are given anew, with equal distances.

    b: 0   d: 2^31     c comes: 2^30     a comes: -2^31
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

Moved = tuple["NDArray[np.int64]", "NDArray[np.int64]"]  # numbers, ascending, and what they became

STEP = 1 << 31
_FARTHEST = 1 << 61


class TextLabels:
    """The numbers of all texts seen so far."""

    def __init__(self, step: int = STEP) -> None:
        self._step = step
        self._texts: list[str] = []  # ascending
        self._labels = np.zeros(0, np.int64)  # beside them
        self._label_of: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._texts)

    def of(self, column: Column) -> tuple[NDArray[np.int64], Moved | None]:
        """The number of each text (0 for NULL); and where numbers were given anew, which one became which."""
        encoded = column.values.dictionary_encode()
        texts: list[str] = encoded.dictionary.to_pylist()
        fresh = [text for text in texts if text not in self._label_of]
        moved = self._add(fresh) if fresh else None
        labels = np.array([*(self._label_of[text] for text in texts), 0], np.int64)
        # One more entry at the end is where NULL points to.
        indices = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
        return labels[indices], moved

    def texts(
        self,
        labels: NDArray[np.int64],
        present: NDArray[np.bool_] | None,
        type_: ColumnType = ColumnType.STRING,
    ) -> Column:
        """The texts with these numbers; NULL where not present."""
        places = self._labels.searchsorted(labels if present is None else labels[present])
        found = iter([self._texts[place] for place in places.tolist()])
        if present is None:
            return Column(type_, pa.array(list(found), pa.string()))
        values = [next(found) if there else None for there in present.tolist()]
        return Column(type_, pa.array(values, pa.string()), present)

    def _add(self, fresh: list[str]) -> Moved | None:
        texts = sorted(self._texts + fresh)  # mostly in order already
        known = np.array([text in self._label_of for text in texts], np.bool_)
        labels, moved = self._between(known), None
        if labels is None:
            labels = (np.arange(len(texts), dtype=np.int64) - len(texts) // 2) * self._step
            moved = (self._labels, labels[known]) if len(self._labels) else None
            known[:] = False
        self._texts, self._labels = texts, labels
        for at in np.flatnonzero(~known).tolist():
            self._label_of[texts[at]] = int(labels[at])
        return moved

    def _between(self, known: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Numbers for new texts between those of the known ones; None where there is no room."""
        if not len(self._labels):
            return None
        fresh = np.flatnonzero(~known)
        below = np.cumsum(known)[fresh] - 1  # the known text before each, -1: none
        _, first, run, count = np.unique(
            below, return_index=True, return_inverse=True, return_counts=True
        )
        rank, room = np.arange(len(fresh)) - first[run] + 1, count[run] + 1
        edges = np.concatenate(
            (
                [self._labels[0] - self._step * (count[0] + 1)],
                self._labels,
                [self._labels[-1] + self._step * (count[-1] + 1)],
            )
        )
        low, high = edges[below + 1], edges[below + 2]
        apart = (high - low) // room
        if (apart < 1).any() or max(-int(edges[0]), int(edges[-1])) > _FARTHEST:
            return None
        labels = np.zeros(len(known), np.int64)
        labels[known] = self._labels
        labels[fresh] = low + apart * rank
        return labels
