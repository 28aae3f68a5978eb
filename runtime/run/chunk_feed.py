"""Files read a chunk at a time, for a run that reads them once from beginning to end.

The next chunk is always of the stream that is furthest behind in event time, so that joins keep no more state than the windows
ask for, and memory does not depend on the size of the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.runtime.run.driver import MicroBatch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from cqc.runtime.intake.typed_batch import TypedBatch

_BEFORE_ALL = -(2**63)


class ChunkFeed:
    """Gives out the chunks of some streams, by folded name."""

    def __init__(self, chunks: Mapping[str, Iterator[TypedBatch]]) -> None:
        self._chunks = dict(chunks)

    def next_batch(self, reached_us: Mapping[str, int]) -> MicroBatch | None:
        """The next chunk of the stream that is furthest behind."""
        while self._chunks:
            name = min(self._chunks, key=lambda each: reached_us.get(each, _BEFORE_ALL))
            chunk = next(self._chunks[name], None)
            if chunk is not None:
                return MicroBatch({name: chunk})
            del self._chunks[name]
        return None

    @property
    def has_ended(self) -> bool:
        """Whether all files were read to their end."""
        return not self._chunks
