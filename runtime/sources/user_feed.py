"""Rows of a source that a user registered (`cqc.source`), kept as JSON lines until they count."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cqc.runtime.errors import RunError
from cqc.runtime.receivers.secret_values import revealed
from cqc.runtime.sources.spooled import Piece, SpooledFeed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

    from cqc.compiler.meaning.catalog import Relation
    from cqc.compiler.meaning.user_sources import UserSource
    from cqc.runtime.sources.file_trace import Place
    from cqc.runtime.sources.spooled import Earlier


class UserFeed(SpooledFeed):
    """The feed of a stream whose rows a user's function gives."""

    def __init__(
        self,
        name: str,
        relation: Relation,
        source: UserSource,
        spool: Path | None,
        *,
        done: Mapping[str, Place],
    ) -> None:
        super().__init__(name, relation, UserLines(relation, source), spool, done=done)


class UserLines:
    """Rows as JSON lines, as a user's function gives them."""

    answers = False

    def __init__(self, relation: Relation, source: UserSource) -> None:
        self._relation = relation
        self._source = source
        self._over = False

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        """The rows of each thing that is given, until the function ends.

        Raises:
            RunError: when the function fails, or gives what is no rows.
        """
        options = revealed(self._relation.options, self._relation.folder)
        del options["format"]
        with _Failure(f"source {self._source.name} of {self._relation.name}"):
            for given in self._source.read(options, earlier.rows):
                if self._over:
                    return
                yield Piece(b"".join(_line(row) for row in _rows(given)))

    def close(self) -> None:
        """Take no more; a function that waits for something goes on waiting in its thread, and is not asked again."""
        self._over = True


class _Failure:
    """Makes a sentence of whatever a user's function raises."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception) and not isinstance(error, MemoryError | RunError):
            raise RunError(f"{self._what} failed: {type(error).__name__}: {error}") from error


def _rows(given: Any) -> list[Any]:
    if isinstance(given, dict):
        return [given]
    if isinstance(given, list | tuple):
        return list(given)
    if isinstance(given, pa.RecordBatch | pa.Table) or hasattr(given, "__arrow_c_stream__"):
        rows: list[Any] = (
            pa.table(given).to_pylist() if not hasattr(given, "to_pylist") else given.to_pylist()
        )
        return rows
    raise RunError(
        f"a source gives dicts, lists of them, DataFrames or Arrow tables, not {type(given).__name__}"
    )


def _line(row: Any) -> bytes:
    if not isinstance(row, dict):
        raise RunError(f"a row of a source is a dict, not {type(row).__name__}")
    return json.dumps(row, default=_text, ensure_ascii=False).encode() + b"\n"


def _text(value: Any) -> Any:
    """What JSON has no form for: times as text, NumPy's numbers as numbers."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if hasattr(value, "item"):
        return value.item()
    return str(value)
