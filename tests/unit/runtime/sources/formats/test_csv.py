"""CSV: the rules of `--bind`, and that the quick reader and the record-by-record one never disagree."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cqc.compiler.meaning.types import ColumnType as T
from cqc.runtime.columns.columns import to_python
from cqc.runtime.errors import RunError
from cqc.runtime.intake.typed_batch import TypedBatch, join_taken
from cqc.runtime.sources.formats.csv import CsvReader, read_csv
from cqc.runtime.sources.formats.csv_records import (
    csv_blocks,
    ends_outside_quotes,
    regular_record_ends,
    scan_records,
    unquote,
)
from tests.support.relations import EVERYTHING, relation

HEADER = b"ts,x,d,name,ok\n"
TEXTS = relation({"a": T.STRING, "b": T.STRING}, event_time=None)
ONE_TEXT = relation({"a": T.STRING}, event_time=None)
HARD_BYTES = st.lists(
    st.sampled_from(
        [b'"', b",", b"\n", b"\r", b" ", b"a", b"1", b"\xff", b'""', b'",', b',"', b"1,2\n"]
    )
).map(b"".join)


def read(data: bytes, *, of: Any = EVERYTHING) -> TypedBatch:
    return join_taken(list(read_csv(of, io.BytesIO(data), "f.csv")))


def rows_of(taken: TypedBatch) -> list[tuple[Any, ...]]:
    return list(zip(*map(to_python, taken.columns), strict=True))


def rejected(taken: TypedBatch) -> list[str]:
    return [reject.reason for reject in taken.rejects]


def row(line: bytes) -> tuple[Any, ...]:
    (only,) = rows_of(read(HEADER + line))
    return only


def test_columns_are_matched_by_name_in_any_case_and_order() -> None:
    taken = read(b"NAME,unused,Ts, x ,ok,D\nbob,9,1970-01-01,5,true,0.5\n")
    assert rows_of(taken) == [(0, 5, 0.5, "bob", True)]


def test_an_empty_field_is_null_and_quotes_around_nothing_are_empty_text() -> None:
    assert row(b"1970-01-01,,,,\n") == (0, None, None, None, None)
    assert row(b'1970-01-01,"","","",""\n') == (0, None, None, "", None)


def test_numbers_and_truth_values() -> None:
    assert row(b"1970-01-01,-7,Infinity,x,FALSE\n") == (0, -7, float("inf"), "x", False)
    assert np.isnan(row(b"1970-01-01,1,nAn,x,\n")[2])


@pytest.mark.parametrize(
    "text",
    [
        "1970-01-01T00:00:01",
        "1970-01-01 00:00:01.0",
        "1970-01-01T00:00:01Z",
        "1970-01-01 02:00:01+02:00",
    ],
)
def test_timestamps(text: str) -> None:
    assert row(f"{text},,,,\n".encode())[0] == 1_000_000


def test_blank_lines_are_skipped() -> None:
    taken = read(b"\n" + HEADER + b"\n  \n1970-01-01,1,,,\r\n\r\n1970-01-01,2,,,")
    assert [values[1] for values in rows_of(taken)] == [1, 2]
    assert taken.read == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"1970-01-01,one,,,", "x is not a BIGINT"),
        (b"1970-01-01,1.0,,,", "x is not a BIGINT"),
        (b"1970-01-01,0x1,,,", "x is not a BIGINT"),
        (b"1970-01-01,9223372036854775808,,,", "x is not a BIGINT"),
        (b"1970-01-01,1,1d,,", "d is not a DOUBLE"),
        (b"1970-01-01,1,1,x,yes", "ok is not a BOOLEAN"),
        (b"soon,1,,,", "ts is not a TIMESTAMP"),
        (b",1,,,", "ts is NULL"),
        (b"1970-01-01,1", "too few fields"),
        (b"1970-01-01,1,,,,", "too many fields"),
        (b"1970-01-01,1,,\xff,", "name is not UTF-8"),
        (b'1970-01-01,1,,"open,', "a quote is not closed"),
    ],
)
def test_a_bad_row_is_rejected_alone(line: bytes, reason: str) -> None:
    taken = read(HEADER + b"1970-01-01,1,,,\n" + line + b"\n1970-01-01,2,,,\n")
    assert [values[1] for values in rows_of(taken)] == [1, 2]
    assert rejected(taken) == [reason]
    assert taken.read == 3


def test_a_rejected_row_is_shown_by_its_header() -> None:
    assert read(HEADER + b'1970-01-01,one,,"a,b",\n').rejects[0].row == {
        "ts": "1970-01-01",
        "x": "one",
        "d": None,
        "name": "a,b",
        "ok": None,
    }
    surplus = read(b"a,b\n1,2,3\n", of=TEXTS).rejects[0].row
    assert surplus == {"a": "1", "b": "2", "3": "3"}


def test_a_missing_column_is_an_error_that_shows_the_header() -> None:
    with pytest.raises(RunError, match=r"f.csv has no column x for s \(its header: ts, y\)"):
        read(b"ts,y\n")


@pytest.mark.parametrize(("sign", "written"), [(";", ";"), ("\t", "tab"), ("|", "|")])
def test_a_header_of_other_delimiters_says_what_to_write(sign: str, written: str) -> None:
    told = f"write `delimiter = '{written}'` in WITH"
    with pytest.raises(RunError, match=re.escape(told)):
        read(f"ts{sign}x{sign}d\n".encode())


def test_a_column_named_twice_is_an_error() -> None:
    with pytest.raises(RunError, match="more than one column b"):
        read(b"a,b,B\n", of=TEXTS)


def test_a_file_with_nothing_in_it_has_no_rows() -> None:
    assert list(read_csv(EVERYTHING, io.BytesIO(b""), "f")) == []
    assert list(read_csv(EVERYTHING, io.BytesIO(HEADER), "f")) == []


def test_a_byte_order_mark_is_not_part_of_the_header() -> None:
    assert rows_of(read(b"\xef\xbb\xbfa,b\n1,2\n", of=TEXTS)) == [("1", "2")]


def test_quotes_hold_commas_quotes_and_line_ends() -> None:
    taken = read(b'a,b\n"x,\r\ny","say ""hi"""\n', of=TEXTS)
    assert rows_of(taken) == [("x,\r\ny", 'say "hi"')]


def test_a_quote_inside_a_field_is_an_ordinary_character() -> None:
    assert rows_of(read(b'a,b\n5" pipe,"in"side\n', of=TEXTS)) == [('5" pipe', "inside")]


def test_an_unclosed_quote_does_not_swallow_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cqc.runtime.sources.formats.csv_records.LONGEST_FIELD", 64)
    good = b"1,2\n" * 100
    blocks = list(csv_blocks(io.BytesIO(b'1,"open\n' + good), size=32))
    assert max(map(len, blocks)) < 200
    reader = CsvReader(TEXTS, ["a", "b"], "f")
    taken = join_taken([reader.read(block) for block in blocks])
    assert (len(taken), rejected(taken)) == (100, ["a quote is not closed"])


def read_slowly(data: bytes, columns: int) -> tuple[list[tuple[str | None, ...]], list[str]]:
    """The judge: records as the module's docstring says, one at a time."""
    rows, reasons = [], []
    for record in scan_records(data):
        if record.fields is None:
            reasons.append("a quote is not closed")
        elif len(record.fields) == 1 and not record.fields[0].strip():
            continue
        elif len(record.fields) != columns:
            reasons.append(f"too {'few' if len(record.fields) < columns else 'many'} fields")
        else:
            try:
                texts = tuple(unquote(f).decode() if f else None for f in record.fields)
            except UnicodeDecodeError:
                reasons.append("not UTF-8")
            else:
                rows.append(texts)
    return rows, reasons


@settings(max_examples=50)
@given(HARD_BYTES)
def test_quick_and_slow_reading_agree_on_two_columns(data: bytes) -> None:
    taken = CsvReader(TEXTS, ["a", "b"], "f").read(data)
    rows, reasons = read_slowly(data, 2)
    assert rows_of(taken) == rows
    shown = ["not UTF-8" if "UTF-8" in reason else reason for reason in rejected(taken)]
    assert shown == reasons


@settings(max_examples=50)
@given(HARD_BYTES)
def test_quick_and_slow_reading_agree_on_one_column(data: bytes) -> None:
    taken = CsvReader(ONE_TEXT, ["a"], "f").read(data)
    rows, reasons = read_slowly(data, 1)
    assert rows_of(taken) == rows
    assert len(taken.rejects) == len(reasons)


@settings(max_examples=50)
@given(HARD_BYTES, st.integers(1, 20))
def test_blocks_hold_whole_records_whatever_their_size(data: bytes, size: int) -> None:
    pieces = list(csv_blocks(io.BytesIO(data), size))
    assert b"".join(pieces) == data
    together = [record.fields for record in scan_records(data)]
    apart = [record.fields for piece in pieces for record in scan_records(piece)]
    # A quote that opens and is closed far away may only be told once all is read; none is that far here.
    assert apart == together


@settings(max_examples=50)
@given(st.lists(st.tuples(st.text(max_size=5), st.text(max_size=5)), max_size=5))
def test_what_pythons_writer_wrote_is_read_back(rows: list[tuple[str, str]]) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    data = file.getvalue().encode()
    assert ends_outside_quotes(data)
    assert regular_record_ends(data) is not None
    assert rows_of(CsvReader(TEXTS, ["a", "b"], "f").read(data)) == rows


def test_a_large_block_with_few_bad_rows_is_read_in_pieces() -> None:
    lines = [b"1970-01-01,%d,,,\n" % at for at in range(2000)]
    lines[1000] = b"1970-01-01,1\n"
    taken = read(HEADER + b"".join(lines))
    assert (len(taken), taken.read, rejected(taken)) == (1999, 2000, ["too few fields"])
