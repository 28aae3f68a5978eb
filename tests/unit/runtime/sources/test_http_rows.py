"""How many rows a body may have: fewer where a row is wide."""

from __future__ import annotations

import pytest

import cqc
from cqc.runtime.sources import http_rows


def test_wide_rows_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_rows, "_MOST_VALUES", 6)
    wide = cqc.compile("CREATE STREAM w (ts BIGINT, a BIGINT, b BIGINT);").catalog.relations["w"]
    for kind, body in (
        ("application/json", b"[{}, {}, {}]"),
        ("application/x-ndjson", b"{}\n" * 3),
        ("text/csv", b"ts,a,b\n" + b"1,2,3\n" * 3),
    ):
        with pytest.raises(http_rows.BadBodyError, match="more than 2 rows") as refused:
            http_rows.READERS[kind](wide, body)
        assert refused.value.status == 413
