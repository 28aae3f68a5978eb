"""The id of a result: the same in every run that gives the same row, whatever crashed in between.

It is the first 128 bits of SHA-256 over the canonical JSON of [program, query, result time, null, row, n]; an alert has [state, key] in the place of null. Equal results of one query at
one time are numbered: n is 0 for the first of them. A later micro-batch may bring one more of the same, as long as the watermark
has not passed its time; so the numbers given out are kept that long, and are part of a commit.

The texts are made by column, as one stretch of bytes, and every result is hashed once. Its number is 0 unless that hash was there before, so
only results that are equal to others are looked at one by one.
"""

from __future__ import annotations

import base64
import hashlib
import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cqc.runtime.deliver.alert_columns import STATES
from cqc.runtime.deliver.results import merge
from cqc.runtime.receivers.canonical_json import canonical_rows, canonical_text, canonical_times
from cqc.runtime.receivers.sent_rows import text_offsets
from cqc.runtime.sinks.lines import LineStyle, line_arrays, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from cqc.runtime.deliver.results import ResultBlock

_KEY_BYTES = 16
_FIRST = b"0]"  # how the text of the first of equal results ends


def _alerts(block: ResultBlock, rows: NDArray[np.int64]) -> pa.StringArray:
    """The state and the key of results of an alert."""
    assert block.alert is not None
    alert = block.alert.take(rows)
    keys = canonical_rows(alert.key_names, alert.key_columns, len(rows))
    states = pa.array(STATES).take(pa.array(alert.states))
    return pc.binary_join_element_wise(',["', states, '",', keys, "],", "")


class _Kept:
    """The results of one query whose times may come again: in stretches, of which the one that is half past first is looked at first."""

    def __init__(self) -> None:
        self._stretches: list[tuple[int, int, NDArray[np.int64], list[bytes]]] = []
        self._made = 0

    def __bool__(self) -> bool:
        return bool(self._stretches)

    def add(self, times_us: NDArray[np.int64], keys: list[bytes]) -> None:
        """Keep results, in the order of their times."""
        if keys:
            self._made += 1  # so that heapq never compares arrays
            middle = int(times_us[len(keys) // 2])
            heapq.heappush(self._stretches, (middle, self._made, times_us, keys))

    def pop_before(self, before_us: int) -> Iterator[list[bytes]]:
        """Let go of most of what is before a time. Returns the keys."""
        while self._stretches and self._stretches[0][0] < before_us:
            _, _, times_us, keys = heapq.heappop(self._stretches)
            past = int(np.searchsorted(times_us, before_us))
            yield keys[:past]
            self.add(times_us[past:], keys[past:])

    def stretches(self) -> Iterable[tuple[NDArray[np.int64], list[bytes]]]:
        """All that is kept."""
        for _, _, times_us, keys in self._stretches:
            yield times_us, keys


class ResultIds:
    """Numbers the results of one program.

    Args:
        program: its name, which is part of every id.
    """

    def __init__(self, program: str) -> None:
        head = f"[{canonical_text(program)},"
        self._style = LineStyle(
            lambda block: f"{head}{canonical_text(block.query)},",
            lambda block: ",null,",
            f",{_FIRST.decode()}",
            canonical_times,
            canonical_rows,
            _alerts,
            alert_first=True,
        )
        self._given: dict[str, _Kept] = {}
        self._counts: dict[bytes, int] = {}  # how many results there were, by the key of the first
        self._earlier: dict[bytes, int] = {}  # as an earlier version knew them: without a number

    def number(self, blocks: Sequence[ResultBlock]) -> pa.StringArray:
        """The ids of the results of a micro-batch, in result-time order."""
        texts = list(line_arrays(blocks, self._style))
        keys = [key for lines in texts for key in _hashes(lines)]
        if not self._earlier and self._are_new(keys):
            self._counts.update(dict.fromkeys(keys, 1))
            ids, first = keys, np.arange(len(keys))
        else:
            ids, first = self._number_equal(texts, keys)
        self._keep(blocks, keys, first)
        return _hexadecimal(ids)

    def _are_new(self, keys: list[bytes]) -> bool:
        distinct = set(keys)
        return len(distinct) == len(keys) and self._counts.keys().isdisjoint(distinct)

    def _number_equal(
        self, texts: Sequence[pa.StringArray], keys: list[bytes]
    ) -> tuple[list[bytes], NDArray[np.int64]]:
        """The hashes of results of which some are equal to others, and which are the first of their kind."""
        ids, first = keys.copy(), []
        stretches = (stretch for lines in texts for stretch in _stretches(lines))
        for at, (key, text) in enumerate(zip(keys, stretches, strict=True)):
            n = self._counts.get(key, 0)
            if n == 0:
                first.append(at)
                if self._earlier:
                    n = self._earlier.pop(_hash(text[: -len(_FIRST)]), 0)
            self._counts[key] = n + 1
            if n:
                ids[at] = _hash(b"%b%d]" % (text[: -len(_FIRST)], n))
        return ids, np.array(first, np.int64)

    def _keep(
        self, blocks: Sequence[ResultBlock], keys: list[bytes], first: NDArray[np.int64]
    ) -> None:
        """Remember the first of each kind until their times are past; instants of pull queries are whole in one micro-batch."""
        block_of, place = merge(blocks)
        block_of, place = block_of[first], place[first]
        if len(blocks) > 1:
            order = np.argsort(block_of, kind="stable")
            first, place = first[order], place[order]
        ends = np.cumsum(np.bincount(block_of, minlength=len(blocks))).tolist()
        begin = 0
        for block, end in zip(blocks, ends, strict=True):
            own = [keys[at] for at in first[begin:end].tolist()]
            if block.is_at:
                for key in own:
                    del self._counts[key]
            elif own:
                kept = self._given.setdefault(block.query, _Kept())
                kept.add(block.times_us[place[begin:end]], own)
            begin = end

    def forget(self, watermarks_us: Mapping[str, int]) -> None:
        """Let go of times that no further result can have, by query."""
        for query, before_us in watermarks_us.items():
            kept = self._given.get(query)
            if kept is None:
                continue
            for past in kept.pop_before(before_us):
                for counts in filter(None, (self._counts, self._earlier)):
                    for key in past:
                        counts.pop(key, None)
            if not kept:
                del self._given[query]

    @property
    def queries(self) -> list[str]:
        """The queries whose numbers are kept."""
        return list(self._given)

    def to_json(self) -> dict[str, Any]:
        """What another process needs to go on."""
        return {
            query: [
                [
                    base64.b64encode(times_us.tobytes()).decode(),
                    base64.b64encode(b"".join(keys)).decode(),
                    [self._counts.get(key, 0) for key in keys],
                ]
                for times_us, keys in kept.stretches()
            ]
            for query, kept in self._given.items()
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Go on where `to_json` was."""
        for query, stretches in stored.items():
            kept = self._given.setdefault(query, _Kept())
            for times, packed, counts in stretches:
                bytes_ = base64.b64decode(packed)
                keys = [bytes_[at : at + _KEY_BYTES] for at in range(0, len(bytes_), _KEY_BYTES)]
                if isinstance(
                    times, int
                ):  # an earlier version: one time, and texts without a number
                    kept.add(np.full(len(keys), times), keys)
                    self._earlier.update(zip(keys, counts, strict=True))
                else:
                    kept.add(np.frombuffer(base64.b64decode(times), np.int64), keys)
                    self._counts.update(zip(keys, counts, strict=True))


def _stretches(lines: pa.StringArray) -> Iterator[bytes]:
    """The text of each line."""
    text = bytes(text_of(lines))
    ends = text_offsets(lines)
    return (text[begin:end] for begin, end in pairwise((ends - ends[0]).tolist()))


def _hash(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()[:_KEY_BYTES]


def _hashes(lines: pa.StringArray) -> list[bytes]:
    sha256 = hashlib.sha256
    return [sha256(text).digest()[:_KEY_BYTES] for text in _stretches(lines)]


def _hexadecimal(hashes: Sequence[bytes]) -> pa.StringArray:
    digits = b"".join(hashes).hex().encode()
    offsets = np.arange(len(hashes) + 1, dtype=np.int32) * (2 * _KEY_BYTES)
    return pa.StringArray.from_buffers(len(hashes), pa.py_buffer(offsets), pa.py_buffer(digits))
