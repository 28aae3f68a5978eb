"""Results by column: a sequence like a list of them, cut and put together again."""

from __future__ import annotations

import numpy as np

from cqc.runtime.receivers.receiver import Columns, Sent
from cqc.runtime.receivers.sent_rows import NO_ROWS, joined, rows_of, text_offsets

ONE = Columns(("x",), ("BIGINT",), "BIGINT")
TWO = Columns(("x", "y"), ("BIGINT", "STRING"), "BIGINT")
RESULTS = [
    Sent(n, f"id{n}", f"q{n % 3}", f'{{"é": {n}}}', TWO if n % 3 else ONE) for n in range(5, 25)
]


def test_it_is_a_sequence_of_results() -> None:
    rows = rows_of(RESULTS)
    assert rows_of(rows) is rows
    assert list(rows) == RESULTS
    assert [rows[at] for at in range(len(rows))] == RESULTS
    assert rows[-1] == RESULTS[-1]
    assert list(rows[3:7]) == RESULTS[3:7]
    assert list(rows[3:7][1:]) == RESULTS[4:7]
    assert list(rows[::2]) == RESULTS[::2]
    assert list(rows[7:3]) == []
    assert list(rows.after(20)) == RESULTS[16:]
    assert list(rows.upto(8)) == RESULTS[:4]
    assert list(rows.take(np.array([4, 1]))) == [RESULTS[4], RESULTS[1]]
    assert [each.number for each in rows.numbered(100)] == list(range(100, 120))


def test_bytes_are_those_of_the_lines() -> None:
    rows = rows_of(RESULTS)[2:9]
    assert rows.text_bytes == sum(len(each.line.encode()) for each in RESULTS[2:9])
    assert text_offsets(rows.lines)[-1] - text_offsets(rows.lines)[0] == rows.text_bytes
    assert NO_ROWS.text_bytes == 0


def test_parts_are_put_together_with_queries_of_their_own() -> None:
    rows = rows_of(RESULTS)
    others = rows_of([Sent(30, "i", "other", "{}", ONE), Sent(31, "j", "q0", "{}", ONE)])
    whole = joined([rows[:4], rows[9:], others])
    assert list(whole) == [*RESULTS[:4], *RESULTS[9:], *others]
    assert joined([]) is NO_ROWS
    assert joined([rows]) is rows


def test_each_shape_is_apart() -> None:
    parts = dict(rows_of(RESULTS).by_columns())
    assert {columns: list(rows) for columns, rows in parts.items()} == {
        ONE: [each for each in RESULTS if each.columns == ONE],
        TWO: [each for each in RESULTS if each.columns == TWO],
    }
