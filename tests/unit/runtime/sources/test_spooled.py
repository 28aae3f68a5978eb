"""Rows that come once are kept until they count; `test_socket` and `test_user_feed` have the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.sources import spooled
from cqc.runtime.sources.spooled import Earlier, Piece, SpooledFeed
from tests.support.relations import relation
from tests.support.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest


class Numbered:
    answers = False

    def __init__(self, stop: int) -> None:
        self.before = -1
        self._stop = stop

    def pieces(self, earlier: Earlier) -> Iterator[Piece]:
        self.before = earlier.rows
        for number in range(earlier.rows, self._stop):
            yield Piece(b'{"ts": %d}\n' % number)

    def close(self) -> None: ...


def test_a_new_start_knows_how_many_rows_came_although_files_were_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spooled, "FILE_BYTES", 30)  # three rows a file
    declared = relation({"ts": T.BIGINT})
    first = SpooledFeed("s", declared, Numbered(10), tmp_path, done={})
    taken = []
    wait_until(
        lambda: (bool(first.take(None)) is False and first.ended) or taken.append(1) is not None
    )
    first.done_with_all()
    done = dict(first.done)
    first.close()
    assert len(list((tmp_path / "s").glob("*.jsonl"))) < 4
    again = Numbered(12)
    second = SpooledFeed("s", declared, again, tmp_path, done=done)
    wait_until(lambda: again.before == 10)
    second.close()
