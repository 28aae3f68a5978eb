"""Rows that are scanned from JSON text are those that Python's `json` and the intake of objects give, and so are the rejects."""

import io
import json
from collections import Counter

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cqc.compiler import compile as compile_text
from cqc.compiler.meaning.catalog import Relation
from cqc.runtime.columns.columns import to_python
from cqc.runtime.intake.typed_batch import Intake, TypedBatch, join_taken
from cqc.runtime.sources.formats.json_rows import JsonError, JsonRows
from cqc.runtime.sources.formats.jsonl import line_blocks
from tests.support.json_lines import read_lines


def relation(text: str) -> Relation:
    found = compile_text(text).catalog.find("s")
    assert found is not None
    return found


EVERYTHING = relation(
    "CREATE STREAM s (ts TIMESTAMP, k BIGINT, x DOUBLE, name STRING, b BOOLEAN, Zoé BIGINT)"
    " WITH (mode = 'strict');"
)
READER = JsonRows(EVERYTHING)


def told(taken: TypedBatch) -> tuple[list[list[object]], list[int], int, Counter[str]]:
    """What became of rows, in a form that can be compared, NaN too."""
    columns = [[repr(value) for value in to_python(column)] for column in taken.columns]
    reasons = Counter(reject.reason for reject in taken.rejects)
    return columns, taken.ts_us.tolist(), taken.read, reasons


def scanned(parts: list[TypedBatch]) -> TypedBatch:
    return join_taken(parts) if parts else Intake(EVERYTHING).take([])


def by_python(body: bytes) -> TypedBatch | None:
    """What the rows of a body are; None for one that is not JSON, or not rows."""
    try:
        rows = json.loads(body)
    except (ValueError, RecursionError):
        return None
    rows = [rows] if isinstance(rows, dict) else rows
    return Intake(EVERYTHING).take(rows) if isinstance(rows, list) else None


def check_array(body: bytes) -> None:
    expected = by_python(body)
    try:
        found = scanned(list(READER.array(body)))
    except (JsonError, TypeError):
        assert expected is None, body
        return
    assert expected is not None, body
    assert told(found) == told(expected)


def check_lines(body: bytes) -> None:
    blocks = list(line_blocks(io.BytesIO(body.removeprefix(b"\xef\xbb\xbf"))))
    expected = [read_lines(Intake(EVERYTHING), block) for block in blocks]
    assert told(scanned(list(READER.lines(body)))) == told(scanned(expected))


KEYS = st.sampled_from(
    ["ts", "TS", "Ts", "k", "K", "\u212a", "x", "name", "Name", "b", "Zoé", "ZOÉ", "zoé", "other", "", "t\\u0073", "\\ud800"]
)  # fmt: skip
NUMBERS = st.sampled_from(
    ["0", "-0", "1", "5.0", "1e3", "1E+2", "1.5", "-1", "1e400", "-1e400", "1e-400", "1e308", "9223372036854775807",
     "-9223372036854775808", "9223372036854775808", "99999999999", "100000000000", "1e18", "9.3e18", "-9.3e18",
     "99999999999999", "100000000000000", "253402300799", "253402300800", "253402300799.9999999", "-62135596800.5", "1" * 400,
     "-" + "1" * 4300, "1" * 4301, "123456789012345678901234567890", "9007199254740993", "1.5.5", "01", "1.", ".5", "-", "+1",
     "1e", "1e+", "-Infinity", "Infinity", "NaN", "-NaN", "Infinit", "nul", "true", "false", "null", "tru", "truee"]
) | st.floats().map(json.dumps) | st.integers().map(str)  # fmt: skip
STRINGS = st.sampled_from(
    ['""', '"a"', '"NaN"', '"-Infinity"', '"2024-01-01T00:00:00Z"', '"2024-01-01 00:00"', '"\\n\\t\\/\\\\\\""', '"\\ud83d\\ude00"',
     '"\\ud83d"', '"\\ude00"', '"\\ud83d\\ud83d\\ude00"', '"\\ud83dx"', '"\\u12g4"', '"\\x"', '"\t"', '"\x7f"', '"é€😀"', '"', '"\\', '"\\u00',
     '"2024-\\u00301-01"', '"\\u004eaN"', '"1"']
) | st.text(max_size=6).map(json.dumps)  # fmt: skip
SPACE = st.sampled_from(["", "", "", " ", "\t", "\r", " \n "])
SCALARS = NUMBERS | STRINGS
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]")
        | st.lists(st.tuples(KEYS, inner), max_size=3).map(
            lambda each: "{" + ",".join(f'"{key}": {value}' for key, value in each) + "}"
        )
    ),
    max_leaves=4,
)
OBJECTS = st.tuples(SPACE, st.lists(st.tuples(KEYS, SPACE, VALUES), max_size=5)).map(
    lambda given: (
        "{" + given[0] + ",".join(f'"{k}"{space}:{space}{v}' for k, space, v in given[1]) + "}"
    )
)
ROWS = st.lists(OBJECTS | OBJECTS | VALUES, max_size=4)
NOISE = st.sampled_from(
    [b"", b"", b"", b"\xff", b"\xed\xa0\x80", b",", b"]", b"}", b"\x00", b"\xc3"]
)


def damaged(text: str, noise: bytes, at: int) -> bytes:
    body = text.encode(errors="surrogatepass")
    return body[: at % (len(body) + 1)] + noise + body[at % (len(body) + 1) :]


@settings(max_examples=600)
@given(ROWS, SPACE, NOISE, st.integers(0, 10_000))
@example(["[" * 5_000], "", b"", 0)
@example(['{"ts": 1, "x": ' + "[" * 900 + "]" * 900 + "}"], "", b"", 0)
@example(['{"ts": 1}'] * 200, " ", b"", 0)
@example(['{"ts": 1e308}', '{"ts": -1e308}'], "", b"", 0)  # once an OverflowError
def test_an_array_has_the_rows_that_python_finds_in_it(
    rows: list[str], space: str, noise: bytes, at: int
) -> None:
    check_array(damaged(f"{space}[{space}{f'{space},'.join(rows)}{space}]{space}", noise, at))


@settings(max_examples=300)
@given(ROWS, SPACE, NOISE, st.integers(0, 10_000))
@example(['{"ts": 1}'] * 200, "", b"", 0)
def test_lines_have_the_rows_that_python_finds_on_them(
    rows: list[str], space: str, noise: bytes, at: int
) -> None:
    check_lines(damaged(f"{space}\n".join(rows), noise, at))


@settings(max_examples=200)
@given(VALUES, SPACE, NOISE, st.integers(0, 1_000))
def test_one_value_is_one_row_or_none(text: str, space: str, noise: bytes, at: int) -> None:
    check_array(damaged(space + text + space, noise, at))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-32-be"])
def test_an_array_may_come_in_other_encodings(encoding: str) -> None:
    check_array('[{"ts": 1, "name": "é€😀"}]'.encode(encoding))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "it ends too early"),
        (b"[", "it ends too early"),
        (b"[{]", "']' cannot stand at byte 2"),
        (b"[1,]", "']' cannot stand at byte 3"),
        (b"[] x", "it should end at byte 3, and goes on"),
        (b"[" * 5_000, "it is nested too deeply, in more than 1,000 levels"),
        (b"[" + b"9" * 5_000 + b"]", "the number at byte 1 has more than 4,300 digits"),
        (b'["\xff"]', "byte 2 is not UTF-8"),
        (b"[\xff]", "'\\xff' cannot stand at byte 1"),
        (b"\xff\xfe[\x00x", "it is not UTF-16"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(body: bytes, why: str) -> None:
    with pytest.raises(JsonError) as error:
        list(READER.array(body))
    assert str(error.value) == why


def test_rows_of_many_scans_are_all_there() -> None:
    rows = [{"ts": n, "k": n, "name": str(n)} if n % 3 else n for n in range(70_000)]
    check_array(json.dumps(rows).encode())
    check_lines("\n".join(map(json.dumps, rows)).encode())


def test_a_relation_of_very_many_columns_is_scanned_a_few_rows_at_a_time() -> None:
    wide = relation(
        f"CREATE STREAM s (ts BIGINT, {', '.join(f'c{n} BIGINT' for n in range(3000))});"
    )
    body = json.dumps([{"ts": 1, "C7": 5, "c2999": 6}] * 1_000).encode()
    parts = list(JsonRows(wide).array(body))
    assert max(len(part) for part in parts) < 800
    taken = join_taken(parts)
    assert len(taken) == 1_000
    assert taken.columns[8].values.tolist() == [5] * 1_000
    assert taken.columns[3000].values.tolist() == [6] * 1_000
