"""What the distinct texts of a column were found to hit, kept for the next packet.

A file hands out the same dictionary with every batch of a row group, and a stream whose texts are few brings the same ones with
every packet. Comparing them with those of the packet before costs little beside searching them. Kept until queries change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.types import ColumnType
from cqc.runtime.columns.columns import Column
from cqc.runtime.columns.repeated_text import CodedHits
from cqc.runtime.filter.literal_search import together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.runtime.filter.atoms import Atoms

_MOST_BYTES = 4 * 1024 * 1024  # of texts that are kept for one column


@dataclass(frozen=True, slots=True)
class TextsFound:
    """Where each of some texts lies among the cuts of its column, and which sparse atoms it hits."""

    distinct: Any  # the texts
    buckets: NDArray[np.int32]
    hits: CodedHits

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return int(self.distinct.nbytes) + self.buckets.nbytes + self.hits.nbytes


class KnownTexts:
    """The texts that each column of a filter had last."""

    def __init__(self) -> None:
        self._found: dict[int, TextsFound] = {}

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return sum(each.nbytes for each in self._found.values())

    def forget(self) -> None:
        """Queries changed: texts hit something else now."""
        self._found.clear()

    def has(self, number: int, distinct: Any) -> bool:
        """Whether these are the texts that the column had last."""
        known = self._found.get(number)
        return known is not None and _same(known.distinct, distinct)

    def look(self, number: int, distinct: Any, atoms: Atoms) -> TextsFound:
        """What the texts of a column hit."""
        known = self._found.get(number)
        if known is not None and _same(known.distinct, distinct):
            return known
        column = Column(ColumnType.STRING, distinct)
        buckets = np.empty(len(distinct), np.int32)
        atoms.cuts[number].locate(column, buckets)
        values, ids = together(atoms.hits_of(number, column))
        found = TextsFound(distinct, buckets, CodedHits(values, ids, len(distinct)))
        if found.nbytes <= _MOST_BYTES:
            self._found[number] = found
        else:
            self._found.pop(number, None)
        return found


def _same(one: Any, other: Any) -> bool:
    return len(one) == len(other) and (one is other or bool(one.equals(other)))
