"""Messages become lines: one row each, whatever they hold."""

from __future__ import annotations

import cqc
from cqc.runtime.sources.line_form import LineForm


def form(value: str) -> LineForm:
    text = f"CREATE STREAM s (ts BIGINT, x STRING) WITH (format = 'socket', port = 1, value = '{value}')"
    return LineForm(cqc.compile(text).catalog.relations["s"])


def test_json_messages_are_one_line_each() -> None:
    piece = form("json").messages([b'{"ts":\n1}', b"", b'{"ts": 2}\r\n'])
    assert piece.rows == b'{"ts": 1}\nnull\n{"ts": 2}  \n'
    assert (piece.extension, piece.header) == ("jsonl", b"")


def test_csv_messages_stand_under_the_declared_names_and_an_open_quote_takes_no_other_with_it() -> (
    None
):
    piece = form("csv").messages([b"1,a\n", b'2,"b', b""])
    assert piece.rows == b'1,a\n""\n""\n'
    assert (piece.extension, piece.header) == ("csv", b'"ts","x"\n')
