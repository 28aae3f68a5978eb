"""The id of a result: the same in every run that gives the same row, whatever crashed in between.

It is the first 128 bits of SHA-256 over the canonical JSON of [program, query, result time, null, row, n]; an alert has [state, key] in the place of null. Equal results of one query at
one time are numbered: n is 0 for the first of them. A later micro-batch may bring one more of the same, as long as the watermark
has not passed its time; so the numbers given out are kept that long, and are part of a commit.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from sortedcontainers import SortedDict

from cqc.runtime.deliver.alert_columns import STATES
from cqc.runtime.deliver.results import merge
from cqc.runtime.receivers.canonical_json import canonical_rows, canonical_text, canonical_times
from cqc.runtime.sinks.lines import LineStyle, line_arrays

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from cqc.runtime.deliver.results import ResultBlock

_KEY_BYTES = 16


def _alerts(block: ResultBlock, rows: NDArray[np.int64]) -> pa.StringArray:
    """The state and the key of results of an alert."""
    assert block.alert is not None
    alert = block.alert.take(rows)
    keys = canonical_rows(alert.key_names, alert.key_columns, len(rows))
    states = pa.array(STATES).take(pa.array(alert.states))
    return pc.binary_join_element_wise(',["', states, '",', keys, "],", "")


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
            ",",
            canonical_times,
            canonical_rows,
            _alerts,
            alert_first=True,
        )
        # For each query, by result time: how many of each result there were. Times that are past are taken out from the front.
        self._given: dict[str, SortedDict[int, dict[bytes, int]]] = {}

    def number(self, blocks: Sequence[ResultBlock]) -> list[str]:
        """The ids of the results of a micro-batch, in result-time order."""
        texts = [text for lines in line_arrays(blocks, self._style) for text in lines.to_pylist()]
        block_of, place = merge(blocks)
        times = [block.times_us.tolist() for block in blocks]
        asked: dict[bytes, int] = {}  # instants of pull queries are whole in one micro-batch
        ids: list[str] = []
        for text, at, within in zip(texts, block_of.tolist(), place.tolist(), strict=True):
            block = blocks[at]
            hashed = hashlib.sha256(text.encode())
            key = hashed.digest()[:_KEY_BYTES]
            counts = asked if block.is_at else self._counts(block.query, times[at][within])
            n = counts.get(key, 0)
            counts[key] = n + 1
            hashed.update(b"%d]" % n)
            ids.append(hashed.hexdigest()[:32])
        return ids

    def forget(self, watermarks_us: Mapping[str, int]) -> None:
        """Let go of times that no further result can have, by query."""
        for query, before_us in watermarks_us.items():
            times = self._given.get(query)
            while times and times.peekitem(0)[0] < before_us:
                times.popitem(0)
            if times is not None and not times:
                del self._given[query]

    @property
    def queries(self) -> list[str]:
        """The queries whose numbers are kept."""
        return list(self._given)

    def to_json(self) -> dict[str, Any]:
        """What another process needs to go on."""
        return {
            query: [
                [us, base64.b64encode(b"".join(counts)).decode(), list(counts.values())]
                for us, counts in times.items()
            ]
            for query, times in self._given.items()
        }

    def restore(self, stored: Mapping[str, Any]) -> None:
        """Go on where `to_json` was."""
        for query, times in stored.items():
            for us, packed, numbers in times:
                joined = base64.b64decode(packed)
                keys = [joined[at : at + _KEY_BYTES] for at in range(0, len(joined), _KEY_BYTES)]
                self._counts(query, us).update(zip(keys, numbers, strict=True))

    def _counts(self, query: str, us: int) -> dict[bytes, int]:
        times = self._given.get(query)
        if times is None:
            times = self._given[query] = SortedDict()
        counts: dict[bytes, int] | None = times.get(us)
        if counts is None:
            counts = times[us] = {}
        return counts
