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
    from cqc.runtime.run.read_ahead import ReadAhead

_BEFORE_ALL = -(2**63)


class ChunkFeed:
    """Gives out the chunks of some streams, by folded name.

    Args:
        chunks: what there is to read.
        is_ahead: read the chunk that probably comes next while the engine works on the one before.
    """

    def __init__(
        self, chunks: Mapping[str, Iterator[TypedBatch]], *, is_ahead: bool = False
    ) -> None:
        self._chunks = dict(chunks)
        self._ahead: ReadAhead | None = None
        if is_ahead:
            from cqc.runtime.run.read_ahead import ReadAhead

            self._ahead = ReadAhead(self._chunks)

    def next_batch(self, reached_us: Mapping[str, int]) -> MicroBatch | None:
        """The next chunk of the stream that is furthest behind."""
        while self._chunks:
            name = self._furthest_behind(reached_us)
            chunk = self._take(name)
            if chunk is not None:
                if self._ahead is not None and len(chunk):
                    # It will have taken its stream to here, unless some of its rows are not taken.
                    latest = max(int(chunk.ts_us.max()), reached_us.get(name, _BEFORE_ALL))
                    self._ahead.expect(self._furthest_behind({**reached_us, name: latest}))
                return MicroBatch({name: chunk})
            del self._chunks[name]
        self.close()
        return None

    def _furthest_behind(self, reached_us: Mapping[str, int]) -> str:
        return min(self._chunks, key=lambda each: reached_us.get(each, _BEFORE_ALL))

    def _take(self, name: str) -> TypedBatch | None:
        return next(self._chunks[name], None) if self._ahead is None else self._ahead.take(name)

    @property
    def has_ended(self) -> bool:
        """Whether all files were read to their end."""
        return not self._chunks

    def close(self) -> None:
        """Read nothing more."""
        if self._ahead is not None:
            self._ahead.close()
