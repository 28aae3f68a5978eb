"""A tree of partial aggregates over a row of slots: any stretch of slots in logarithmic time.

Sixteen neighbouring slots have a node above them, sixteen nodes another one, and so on, each level an array. A stretch is
the nodes that lie wholly inside it plus a few slots at its ends, so neither a window's length nor how it moved before
matters:

    slots     0 ......... 15 | 16 ....... 31 | 32 ....... 47 | 48 ...
    level 1         a                b                c
    stretch 10..40  =  slots 10..15 + node b + slots 32..39

When slots change, only the nodes above them are made again. Values and their validity are kept once per slot; the nodes are
a sixteenth of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.pull.aggregate.partials import absorb, absorb_value, clear, width_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAN = 16


class AggregateTree:
    """Values at slots, and partial aggregates above them."""

    def __init__(self, capacity: int, dtype: Any) -> None:
        self._dtype = dtype
        self._place(np.zeros(capacity, dtype), np.zeros(capacity, np.bool_))

    def _place(self, values: NDArray[Any], valid: NDArray[np.bool_]) -> None:
        self.values = values
        self.valid = valid
        self._offsets = level_offsets(len(values))
        self._nodes = np.zeros((int(self._offsets[-1]), width_of(values)), self._dtype)

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes + self.valid.nbytes + self._nodes.nbytes)

    def move(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> None:
        """Move values from slot to slot, one after the other; `refresh` the slots afterwards."""
        move_entries(self.values, sources, targets)
        move_entries(self.valid, sources, targets)

    def write(
        self, slots: NDArray[np.int64], values: NDArray[Any], valid: NDArray[np.bool_] | None
    ) -> None:
        """Put values into slots; `refresh` them afterwards."""
        self.values[slots] = values
        self.valid[slots] = True if valid is None else valid

    def renumber(self, numbers: NDArray[np.int64], became: NDArray[np.int64]) -> None:
        """Values that are one of the ascending numbers become another; all of them, and their order stays."""
        places = np.minimum(numbers.searchsorted(self.values), len(numbers) - 1)
        found = numbers[places] == self.values
        self.values[found] = became[places[found]]
        self.refresh(np.arange(-(-len(self.values) // FAN)))

    def relocate(
        self, sources: NDArray[np.int64], targets: NDArray[np.int64], capacity: int
    ) -> None:
        """Start anew with `capacity` slots, keeping these; `refresh` all of them afterwards."""
        values, valid = np.zeros(capacity, self._dtype), np.zeros(capacity, np.bool_)
        values[targets] = self.values[sources]
        valid[targets] = self.valid[sources]
        self._place(values, valid)

    def refresh(self, blocks: NDArray[np.int64]) -> None:
        """Make the nodes above the given blocks of sixteen slots again (ascending block numbers)."""
        refresh_lowest(self.values, self.valid, self._nodes, blocks)
        for level in range(len(self._offsets) - 2):
            parents = blocks // FAN
            blocks = (
                parents[np.concatenate(([True], parents[1:] != parents[:-1]))]
                if len(parents)
                else parents
            )
            refresh_level(self._nodes, self._offsets, level, blocks)

    def stretches(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> NDArray[Any]:
        """The partial aggregate of each stretch of slots."""
        partials = np.empty((len(starts), width_of(self.values)), self._dtype)
        fold_stretches(self.values, self.valid, self._nodes, self._offsets, starts, stops, partials)
        return partials


def level_offsets(capacity: int) -> NDArray[np.int64]:
    """Where each level's nodes begin, and after the last one where they end."""
    offsets, size = [0], capacity
    while True:
        size = -(-size // FAN)
        offsets.append(offsets[-1] + size)
        if size <= FAN:
            return np.array(offsets, np.int64)


@njit(cache=True, nogil=True)
def move_entries(entries, sources, targets):  # type: ignore[no-untyped-def]
    """entries[target] = entries[source], in the given order."""
    for at in range(len(sources)):
        entries[targets[at]] = entries[sources[at]]


@njit(cache=True, nogil=True)
def refresh_lowest(values, valid, nodes, blocks):  # type: ignore[no-untyped-def]
    """The nodes right above the slots."""
    for block in blocks:
        node = nodes[block]
        clear(node)
        for slot in range(block * FAN, min((block + 1) * FAN, len(values))):
            if valid[slot]:
                absorb_value(node, values[slot])


@njit(cache=True, nogil=True)
def refresh_level(nodes, offsets, level, blocks):  # type: ignore[no-untyped-def]
    """The nodes of level + 1 from those of `level`."""
    below, above = offsets[level], offsets[level + 1]
    for block in blocks:
        node = nodes[above + block]
        clear(node)
        for child in range(below + block * FAN, min(below + (block + 1) * FAN, above)):
            absorb(node, nodes[child])


@njit(cache=True, nogil=True)
def fold_stretches(values, valid, nodes, offsets, starts, stops, partials):  # type: ignore[no-untyped-def]
    """Each stretch from the slots at its ends and the nodes between, level by level."""
    for row in range(len(starts)):
        partial = partials[row]
        clear(partial)
        start, stop = starts[row], stops[row]
        first, last = -(-start // FAN), stop // FAN
        if first >= last:
            for slot in range(start, stop):
                if valid[slot]:
                    absorb_value(partial, values[slot])
            continue
        for slot in range(start, first * FAN):
            if valid[slot]:
                absorb_value(partial, values[slot])
        for slot in range(last * FAN, stop):
            if valid[slot]:
                absorb_value(partial, values[slot])
        for level in range(len(offsets) - 1):
            start, stop = first, last
            first, last = -(-start // FAN), stop // FAN
            if first >= last or level == len(offsets) - 2:
                for node in range(start, stop):
                    absorb(partial, nodes[offsets[level] + node])
                break
            for node in range(start, first * FAN):
                absorb(partial, nodes[offsets[level] + node])
            for node in range(last * FAN, stop):
                absorb(partial, nodes[offsets[level] + node])


def warm() -> None:
    """Compile this module's kernels."""
    slots = np.zeros(1, np.int64)
    for dtype in (np.int64, np.float64):
        tree = AggregateTree(FAN * FAN * FAN, dtype)
        tree.move(slots, slots)
        tree.refresh(slots)
        tree.stretches(slots, slots + 1)
