"""Which feed a stream has: that of its path, or of the connection that its WITH clause names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cqc.compiler.diagnostics.diagnostic import InternalError
from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.sources.connections import is_connection, open_feed
from cqc.runtime.sources.file_feed import FileFeed
from cqc.runtime.sources.rate import RateFeed
from tests.support.relations import relation

if TYPE_CHECKING:
    from pathlib import Path

RATE = relation({"ts": T.BIGINT}, options={"format": "RATE"})
FILE = relation({"ts": T.BIGINT}, options={"format": "csv", "path": "a.csv"})


def test_a_stream_that_is_bound_to_a_path_is_no_connection() -> None:
    assert is_connection(RATE, {})
    assert not is_connection(RATE, {"S": "a.csv"})
    assert not is_connection(FILE, {})


def test_a_path_has_the_feed_of_files_and_a_connection_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("ts\n1\n")
    of_files = open_feed("s", FILE, tmp_path, {}, follow=False, spool=None)
    assert isinstance(of_files, FileFeed)
    rate = open_feed("s", RATE, None, {"rate@5": [7, None, None, None]}, follow=False, spool=None)
    assert isinstance(rate, RateFeed)
    assert rate.done == {"rate@5": 7}
    for feed in (of_files, rate):
        feed.close()


def test_a_format_that_the_binder_should_have_refused_is_a_bug() -> None:
    pigeon = relation({"ts": T.BIGINT}, options={"format": "pigeon"})
    with pytest.raises(InternalError, match="nobody reads the format pigeon"):
        open_feed("s", pigeon, None, {}, follow=False, spool=None)
