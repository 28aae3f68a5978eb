"""Networks of all queries over one column of addresses: one search for each distinct address, however many nets there are.

The ends of all nets cut the line of addresses into pieces, and each piece knows the atoms whose nets cover it. An address is
looked up among the cuts.

    atom 7: 10.0.0.0/8    atom 8: 10.1.0.0/16, 192.168.0.0/16
    pieces  10.0.0.0 -> 7     10.1.0.0 -> 7, 8     10.2.0.0 -> 7     11.0.0.0 -> none     192.168.0.0 -> 8 ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.compiler.meaning.networks import ranges_of
from cqc.runtime.columns.repeated_text import RepeatedText
from cqc.runtime.networks.addresses import read_addresses, six_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cqc.compiler.meaning.networks import Range
    from cqc.runtime.columns.columns import Column
    from cqc.runtime.filter.point_index import Hits


class Pieces:
    """The line of addresses of one version, cut by the ranges of atoms."""

    def __init__(self, ranges: dict[int, list[Range]], *, is_four: bool) -> None:
        events: dict[int, list[tuple[int, bool]]] = {}
        for atom, own in ranges.items():
            for first, last in own:
                events.setdefault(first, []).append((atom, True))
                if last + 1 < (2**32 if is_four else 2**128):  # else the net ends with the line
                    events.setdefault(last + 1, []).append((atom, False))
        cuts = sorted(events)
        inside: set[int] = set()
        members: list[list[int]] = [[]]  # before the first cut
        for cut in cuts:
            for atom, begins in events[cut]:
                (inside.add if begins else inside.discard)(atom)
            members.append(sorted(inside))
        if is_four:
            self.cuts: Any = np.array(cuts, np.uint64)
        else:
            self.cuts = np.array([cut.to_bytes(16) for cut in cuts], "S16")
        lengths = [len(each) for each in members]
        self.starts = np.cumsum([0, *lengths]).astype(np.int64)
        self.atoms = np.array([atom for each in members for atom in each], np.int32)

    def at(self, keys: Any) -> NDArray[np.int64]:
        """The piece in which each address is."""
        places: NDArray[np.int64] = np.searchsorted(self.cuts, keys, side="right").astype(np.int64)
        return places


class NetIndex:
    """The networks of one column."""

    def __init__(self) -> None:
        self._nets: dict[int, tuple[str, ...]] = {}
        self._pieces: tuple[Pieces, Pieces] | None = None

    @property
    def nbytes(self) -> int:
        """Memory, about."""
        return 300 * sum(map(len, self._nets.values()))

    def add(self, atom: int, nets: tuple[str, ...]) -> None:
        """Make the addresses of the nets hit the atom."""
        self._nets[atom] = nets
        self._pieces = None

    def remove(self, atom: int) -> None:
        """Undo `add`."""
        del self._nets[atom]
        self._pieces = None

    def hits(self, column: Column) -> Hits:
        """Which tuples hit which atoms."""
        texts, codes = column.values, None
        if isinstance(column, RepeatedText) and len(column.distinct) < len(column):
            texts, codes = column.distinct, column.codes
        version, high, low = read_addresses(texts)
        found = [
            self._of_version(pieces, version == number, keys, codes)
            for number, pieces, keys in (
                (4, self._cut()[0], low),
                (6, self._cut()[1], six_keys(high, low)),
            )
            if len(pieces.cuts)
        ]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.int32)
        return np.concatenate([each[0] for each in found]), np.concatenate(
            [each[1] for each in found]
        )

    def _of_version(self, pieces: Pieces, has_version: Any, keys: Any, codes: Any) -> Hits:
        places = np.zeros(len(has_version), np.int64)
        places[has_version] = pieces.at(keys[has_version])
        if codes is not None:
            places = places[codes]
        counts = pieces.starts[places + 1] - pieces.starts[places]
        tuples = np.flatnonzero(counts)
        counts = counts[tuples]
        # The atoms of each piece lie side by side: every hit is its piece's start and its number within.
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        atoms = pieces.atoms[np.repeat(pieces.starts[places[tuples]], counts) + within]
        return np.repeat(tuples, counts).astype(np.int32), atoms

    def _cut(self) -> tuple[Pieces, Pieces]:
        if self._pieces is None:
            four = {atom: ranges_of(nets, 4) for atom, nets in self._nets.items()}
            six = {atom: ranges_of(nets, 6) for atom, nets in self._nets.items()}
            self._pieces = Pieces(four, is_four=True), Pieces(six, is_four=False)
        return self._pieces
