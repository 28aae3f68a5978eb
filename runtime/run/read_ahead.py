"""The next chunk of a stream, read in a thread while the engine works on the one before.

Only one chunk is read ahead, of the stream that will probably be asked for: it is in memory before anybody wants it. A guess that was wrong
costs nothing but that: the chunk waits until its stream is asked for, and what is asked for now is read at once. So which chunk comes
when does not depend on the guesses, nor on how fast the thread is.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

    from cqc.runtime.intake.typed_batch import TypedBatch


class ReadAhead:
    """The chunks of some streams, by folded name."""

    def __init__(self, chunks: Mapping[str, Iterator[TypedBatch]]) -> None:
        self._chunks = chunks
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="cqc-reader")
        self._ahead: tuple[str, Future[TypedBatch | None]] | None = None

    def take(self, name: str) -> TypedBatch | None:
        """The next chunk of a stream, None after its last; what reading it raised is raised here."""
        if self._ahead is None or self._ahead[0] != name:
            return next(self._chunks[name], None)
        (_, reading), self._ahead = self._ahead, None
        return reading.result()

    def expect(self, name: str) -> None:
        """Begin to read the next chunk of a stream, unless one that was read ahead still waits."""
        if self._ahead is None:
            self._ahead = name, self._reader.submit(next, self._chunks[name], None)

    def close(self) -> None:
        """Read nothing more; what is being read is waited for."""
        self._reader.shutdown(cancel_futures=True)
