"""JSON lines: keys and values by the rules of `--bind`, and that Arrow and Python never disagree."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.intake.typed_batch import Intake, TypedBatch, join_taken
from cqc.runtime.sources.formats.jsonl import JsonLinesReader, line_blocks, read_jsonl
from tests.support.json_lines import read_lines
from tests.support.relations import EVERYTHING, relation

PLAIN = relation(
    {"x": T.BIGINT, "d": T.DOUBLE, "s": T.STRING, "ok": T.BOOLEAN},
    event_time=None,
    options={"mode": "strict"},
)


def read(data: bytes, *, of: Any = EVERYTHING) -> TypedBatch:
    return join_taken(list(read_jsonl(of, io.BytesIO(data), "f.jsonl")))


def rows_of(taken: TypedBatch) -> list[tuple[Any, ...]]:
    return list(zip(*map(to_python, taken.columns), strict=True))


def test_keys_match_in_any_case_and_the_rest_is_ignored() -> None:
    taken = read(b'{"TS": "1970-01-01T00:00:01Z", "X": 5, "more": [1]}\n{"ts": "1970-01-01"}\n')
    assert rows_of(taken) == [(1_000_000, 5, None, None, None), (0, None, None, None, None)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b'{"ts": "1970-01-01"} x', "not JSON"),
        (b"[1]", "not an object"),
        (b'"text"', "not an object"),
        (b"\xff", "not UTF-8"),
        (b'{"ts": "1970-01-01", "name": "\xff"}', "name is not a STRING"),
        (b'{"ts": "1970-01-01", "name": "\\ud800"}', "name is not a STRING"),
        (b'{"ts": "1970-01-01", "x": "five"}', "x is not a BIGINT"),
        (b'{"ts": "1970-01-01", "x": 1.5}', "x is not a BIGINT"),
        (b'{"ts": "1970-01-01", "ok": 1}', "ok is not a BOOLEAN"),
        (b'{"ts": "soon"}', "ts is not a TIMESTAMP"),
        (b"{}", "ts is NULL"),
        (b"[" * 100_000, "not JSON"),
        (b'{"ts": "1970-01-01", "x": ' + b"9" * 5000 + b"}", "not JSON"),
    ],
)
def test_a_bad_line_is_rejected_alone(line: bytes, reason: str) -> None:
    good = b'{"ts": "1970-01-01", "x": 1}'
    taken = read(b"\n".join([good, line, good]))
    assert [values[1] for values in rows_of(taken)] == [1, 1]
    assert [reject.reason for reject in taken.rejects] == [reason]
    assert taken.read == 3


def test_blank_lines_and_a_byte_order_mark_are_skipped() -> None:
    taken = read(b'\xef\xbb\xbf\n  \r\n{"ts": "1970-01-01"}\r\n\n')
    assert (len(taken), taken.read) == (1, 1)


def test_numbers_as_results_write_them_are_read_back() -> None:
    taken = read(b'{"x": 1, "d": "-Infinity"}\n{"x": 2.0, "d": NaN}\n{"d": 7}\n', of=PLAIN)
    rows = rows_of(taken)
    assert [values[0] for values in rows] == [1, 2, None]
    assert rows[0][1] == -float("inf")
    assert rows[2][1] == 7.0


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_hold_whole_lines(size: int) -> None:
    data = b"ab\ncdefgh\n\ni"
    blocks = list(line_blocks(io.BytesIO(data), size))
    assert b"".join(blocks) == data
    assert all(block.endswith(b"\n") for block in blocks[:-1])


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**64),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.sampled_from(["NaN", "Infinity", [1], {}]),
)
OBJECTS = st.dictionaries(st.sampled_from(["x", "d", "s", "ok", "X", "y"]), VALUES, max_size=4)


def test_a_rejected_object_is_shown_as_it_came_whoever_read_it() -> None:
    regular = b'{"ts": "2024-01-01", "x": 1}\n{"x": 2}\n{}\n{"ts": "soon", "name": "a"}\n'
    shown = [{"x": 2}, {}, {"ts": "soon", "name": "a"}]
    assert [reject.row for reject in read(regular).rejects] == shown
    irregular = b'{"ts": "2024-01-01", "other": 1}\n' + regular
    assert [reject.row for reject in read(irregular).rejects] == shown


LINES = st.one_of(
    OBJECTS.map(json.dumps),
    OBJECTS.map(lambda made: json.dumps(made, ensure_ascii=False, separators=(",", ":"))),
    st.sampled_from(
        [
            "{}",
            "{",
            "}",
            '{"x":1}{"x":2}',
            '{"x":1,"x":2}',
            '{"s":"a',
            "",
            " ",
            '{"x":1,}',
            '{"x":01}',
        ]
    ),
)


@settings(max_examples=50)
@given(st.lists(LINES, max_size=5))
def test_arrow_and_python_read_the_same_rows(lines: list[str]) -> None:
    block = "\n".join(lines).encode(errors="surrogatepass")
    quick = JsonLinesReader(PLAIN).read(block)
    slow = read_lines(Intake(PLAIN), block)
    assert repr(rows_of(quick)) == repr(rows_of(slow))
    assert [reject.reason for reject in quick.rejects] == [reject.reason for reject in slow.rejects]
    assert quick.read == slow.read
