"""The hits of sparse atoms in one block of tuples, as bit rows: kernels of the sweep (`bit_sweep`).

Hits come in two forms. Those of single tuples are pairs of tuple and atom. Where a column repeats its texts, each tuple has a
*code*, and each code a list of atoms; the tuples of a block that have one code are gathered first, so that each atom of the list
costs one row of bits, however many tuples there are.

    codes  7 9 7 .        7: atoms 3, 5     9: atom 5        row of atom 3: 1010    row of atom 5: 1110
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cqc.runtime.kernel import njit
from cqc.runtime.lineage.bit_rows import BLOCK, WORDS, lowest_bit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ONE = np.uint64(1)
_NO_TUPLE = 0
_FEW = 4  # tuples of one code whose bits are set one by one


class Marked(NamedTuple):
    """Conditions already evaluated: whole masks, and the hits of sparse atoms, tuple by tuple and by code."""

    mask_rows: NDArray[np.int32]
    mask_words: NDArray[np.uint64]  # [masks, words]
    hit_tuples: NDArray[np.int32]  # in the order of their blocks
    hit_ids: NDArray[np.int32]
    codes: NDArray[np.int32]  # [columns by codes, tuples]; -1 for a tuple that hits nothing there
    code_starts: NDArray[np.int64]  # where the atoms of each code begin
    code_ids: NDArray[np.int32]
    free_row: int  # the first row for hit atoms where ids are mapped
    mapped: bool


class BlockHits(NamedTuple):
    """Room for what one block hits."""

    atoms: NDArray[np.int32]  # that some tuple of the block hits, each once
    seen: NDArray[np.int32]  # by atom, the last block that hits it
    codes: NDArray[np.int32]  # that some tuple of the block has, of one column
    places: NDArray[np.int32]  # by code, where its bits are
    stamps: NDArray[np.int32]  # by code, the last block that has it
    bits: NDArray[np.uint64]  # [codes of one column, words]
    counts: NDArray[np.int32]  # of the tuples of each
    few: NDArray[np.uint64]  # tuples of one code


@njit(cache=True, nogil=True)
def room_for_hits(marked, atoms):  # type: ignore[no-untyped-def]
    """Room for the blocks of a packet; atoms are numbered up to `atoms`."""
    values = len(marked.code_starts) - 1
    hits = len(marked.hit_ids) + len(marked.code_ids)
    codes = min(values, BLOCK)
    return BlockHits(
        np.empty(min(hits, atoms), np.int32),
        np.full(atoms if hits else 0, -1, np.int32),
        np.empty(codes, np.int32),
        np.empty(values, np.int32),
        np.full(values, -1, np.int32),
        np.empty((codes, WORDS), np.uint64),
        np.empty(codes, np.int32),
        np.empty(_FEW, np.uint64),
    )


@njit(cache=True, nogil=True)
def fill_hits(table, marked, row_of, block, tuples, next_hit, room):  # type: ignore[no-untyped-def]
    """Set the bits of the block's hits; returns the first hit of the next block, and how many atoms are hit."""
    # Plain arrays only: a slice or a field access inside the loops would count references.
    first, found = block * BLOCK, 0
    hit_tuples, hit_ids = marked.hit_tuples, marked.hit_ids
    mapped, free_row, seen, atoms = marked.mapped, marked.free_row, room.seen, room.atoms
    while next_hit < len(hit_ids) and hit_tuples[next_hit] < first + BLOCK:
        atom, at = hit_ids[next_hit], hit_tuples[next_hit] - first
        if seen[atom] != block:
            seen[atom] = block
            atoms[found] = atom
            if mapped:
                row_of[atom] = free_row + found
            found += 1
        row = row_of[atom] if mapped else atom
        table[row, at >> 6] |= _ONE << np.uint64(at & 63)
        next_hit += 1
    for column in range(len(marked.codes)):
        codes = _gather(
            marked.codes[column], first, min(first + BLOCK, tuples), block, room.places,
            room.stamps, room.bits, room.counts, room.codes,
        )  # fmt: skip
        found = _spread(
            table, codes, marked.code_starts, marked.code_ids, mapped, free_row, row_of, block,
            seen, atoms, room.codes, room.bits, room.counts, room.few, found,
        )  # fmt: skip
    return next_hit, found


@njit(cache=True, nogil=True)
def _spread(  # type: ignore[no-untyped-def]
    table, count, starts, ids, mapped, free_row, row_of, block,
    seen, atoms, codes, bits, counts, few, found,
):  # fmt: skip
    """Set the bits of the atoms of each code; returns how many atoms are hit so far."""
    for place in range(count):
        code, tuples = codes[place], counts[place]
        if tuples <= _FEW:
            _list_bits(bits, place, few)
        for at in range(starts[code], starts[code + 1]):
            atom = np.uint64(ids[np.uint64(at)])
            if seen[atom] != block:
                seen[atom] = block
                atoms[found] = atom
                if mapped:
                    row_of[atom] = free_row + found
                found += 1
            row = np.uint64(row_of[atom]) if mapped else atom
            if tuples <= _FEW:
                for number in range(np.uint64(tuples)):
                    bit = few[number]
                    table[row, bit >> np.uint64(6)] |= _ONE << (bit & np.uint64(63))
            else:
                for word in range(np.uint64(WORDS)):
                    table[row, word] |= bits[np.uint64(place), word]
    return found


@njit(cache=True, nogil=True)
def _gather(codes, first, last, block, places, stamps, bits, counts, out):  # type: ignore[no-untyped-def]
    """The tuples of each code of one column in a block, as bits; returns how many codes there are."""
    found = 0
    for at in range(last - first):
        code = codes[np.uint64(first + at)]
        if code < 0:
            continue
        if stamps[np.uint64(code)] != block:
            stamps[np.uint64(code)] = block
            places[np.uint64(code)] = found
            for word in range(WORDS):
                bits[found, word] = np.uint64(0)
            out[found] = code
            counts[found] = 0
            found += 1
        place = np.uint64(places[np.uint64(code)])
        bits[place, np.uint64(at) >> np.uint64(6)] |= _ONE << np.uint64(at & 63)
        counts[place] += 1
    return found


@njit(cache=True, nogil=True)
def _list_bits(bits, place, out):  # type: ignore[no-untyped-def]
    """The numbers of the bits of a row."""
    count = 0
    for word in range(WORDS):
        left = bits[place, word]
        while left:
            out[count] = np.uint64(64 * word) + np.uint64(lowest_bit(left))
            count += 1
            left &= left - _ONE


@njit(cache=True, nogil=True)
def forget_hits(table, marked, row_of, room, found):  # type: ignore[no-untyped-def]
    """Make the rows of the block's hits empty again."""
    atoms, mapped = room.atoms, marked.mapped
    for at in range(found):
        row = atoms[at]
        if mapped:
            row_of[row], row = _NO_TUPLE, row_of[row]
        for word in range(WORDS):
            table[row, word] = 0


@njit(cache=True, nogil=True)
def choose_programs(programs, room, found, block, stamps, chosen):  # type: ignore[no-untyped-def]
    """The guarded programs one of whose atoms is hit in the block, each once."""
    count, heads, links, atoms = 0, programs.guard_head, programs.guard_links, room.atoms
    if len(links) == 0:
        return count
    for at in range(found):
        link = heads[atoms[at]]
        while link >= 0:
            program = links[link, 0]
            if stamps[program] != block:
                stamps[program] = block
                chosen[count] = program
                count += 1
            link = links[link, 1]
    return count
