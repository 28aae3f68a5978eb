"""What the kernels of a step are told, by name.

A kernel takes a few groups of arrays and numbers. From Python a group is handed over as a plain tuple in the order of its fields here,
and the kernel names it first (`rows = RowBlock(*rows)`), which costs nothing once it is compiled. A NamedTuple handed over from Python
would read better still, but is too dear: Numba takes 1.2 us to recognise each (32 arrays in 8 NamedTuples: 13.6 us a call; in 8
plain tuples: 5.8 us; as 32 arguments: 2.9 us), while a small packet takes some 200 us in all and several calls. Groups that stay what
they are for a while are made once and kept, which saves what the tuples cost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]
    Values = NDArray[np.float64]
    Bits = NDArray[np.uint64]


class RowBlock(NamedTuple):
    """Partial combinations: the tuple of each item bound so far, and the slots that are still alive."""

    positions: Numbers  # [item, row]
    ts: Numbers  # [item, row]; one row of times where a complete row has only its result time
    lineage: Bits  # [row, word]


class Equalities(NamedTuple):
    """What must be equal; the first one says which chains are walked."""

    keys: Numbers  # [equality, row] of the rows
    forms: Numbers  # [equality] of the target


class ChainTarget(NamedTuple):
    """The state that rows meet by key."""

    heads: Numbers  # [form, bucket]
    links: Numbers  # [form, index, (next older position, key)]
    shift: int
    base: int  # the position at index 0
    first: int  # the positions that count are first..limit-1
    limit: int
    ts: Numbers
    newest: Numbers  # the largest event time up to each tuple
    lineage: Bits
    values: Values  # [index, column]


class TimeTarget(NamedTuple):
    """The tuples that rows meet by time, in time order at start..end-1."""

    ts: Numbers
    positions: Numbers
    lineage: Bits  # [word, entry]
    values: Values  # [column, entry]
    start: int
    end: int
    first: int  # the positions among them that count are first..limit-1
    limit: int


class Hub(NamedTuple):
    """The bound item by which rows are grouped for a scan."""

    item: int
    lists: int  # so many of the theta lists, the first ones, are between it and the target
    loosest: Numbers  # [item, (least, largest)] distance that any slot allows


class Windows(NamedTuple):
    """Windows to each bound item, as rank sets (`rank_lineage`)."""

    starts: Numbers  # where the cuts of each item begin, and the end
    cuts: Numbers
    sets: Bits  # one more for each item than it has cuts


class Thetas(NamedTuple):
    """Theta lists (`theta_lists`) between bound items and the target."""

    codes: Numbers
    columns: Numbers  # of the target's values
    starts: Numbers  # where the parameters of each list begin, and the end
    parameters: Values  # [condition, 4]
    sets: Bits
    members: Bits  # [list, word]
    probing: Values  # [list, row]: the value of the row's tuple


class Candidates(NamedTuple):
    """Rows with a tuple of the target that each may be extended by, and the slots that are still alive."""

    rows: Numbers
    positions: Numbers
    alive: Bits
